return {
  { name = "X1: an empty stream gives nothing", stream = "", events = {} },
  { name = "X1: a block without a blank line is discarded", stream = "data: a\n\ndata: b\n",
    events = { { data = "a" } } },
  { name = "X1: an unfinished line is discarded", stream = "data: a\n\ndata: b", events = { { data = "a" } } },
  { name = "X1: an unfinished blank line is none", stream = "data: a", events = {} },
  { name = "X1: an unfinished event name is discarded", stream = "data: a\nevent: b", events = {} },
  { name = "X1: four blocks, one discarded (example of 9.2.6)",
    stream = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
    events = { { data = "first event", id = "1" }, { data = "second event" } } },
  { name = "X1: events on one connection (example of 9.2.6)",
    stream = "data: This is the first message.\n\ndata: This is the second message, it\n" ..
      "data: has two lines.\n\ndata: This is the third message.\n\n",
    events = { { data = "This is the first message." }, { data = "This is the second message, it\nhas two lines." },
      { data = "This is the third message." } } },
}
