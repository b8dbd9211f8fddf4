local media = require("operations.openapi.media")

describe("a media type", function()
  it("is its essence, in lower case, the first of several", function()
    assert.equal("application/json", media.essence(" Application/JSON; charset=utf-8"))
    assert.equal("text/plain", media.essence("text/plain, text/html"))
    assert.equal("text/plain", media.essence("text/plain x"))
    for _, none in ipairs({ "", " ", ";", 7, true }) do
      assert.equal("", media.essence(none))
    end
    assert.equal("", media.essence(nil))
  end)

  it("has a charset", function()
    assert.equal("utf-8", media.charset("text/plain; Charset=UTF-8"))
    assert.equal("latin1", media.charset('text/plain;a=b; charset = "Latin1"'))
    assert.is_nil(media.charset("text/plain"))
    assert.is_nil(media.charset(nil))
  end)

  it("is JSON, or has its suffix", function()
    for _, name in ipairs({ "application/json", "text/json", "application/problem+json", "a/b+json" }) do
      assert.is_true(media.is_json(name))
    end
    for _, name in ipairs({ "application/+json", "application/jsonp", "application/json-seq", "text/plain", "" }) do
      assert.is_false(media.is_json(name))
    end
  end)

  it("is text, or XML", function()
    for _, name in ipairs({ "text/x", "application/xml", "application/javascript", "application/yaml",
      "application/x-yaml", "application/x-www-form-urlencoded", "image/svg+xml" }) do
      assert.is_true(media.is_text(name))
    end
    for _, name in ipairs({ "application/json", "image/png", "x/text/", "a/b+xmlx" }) do
      assert.is_false(media.is_text(name))
    end
  end)

  it("is a stream of events, lines or a sequence", function()
    assert.equal("events", media.stream_kind("text/event-stream"))
    for _, name in ipairs({ "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl",
      "application/x-jsonlines", "application/jsonlines", "application/json-lines", "text/jsonl", "text/x-ndjson",
      "application/stream+json", "application/vnd.a+jsonl", "application/vnd.a.b+ndjson" }) do
      assert.equal("lines", media.stream_kind(name), name)
      assert.is_false(media.is_json(name))
    end
    for _, name in ipairs({ "application/json-seq", "application/geo+json-seq", "application/x-json-seq" }) do
      assert.equal("sequence", media.stream_kind(name), name)
      assert.is_false(media.is_json(name))
    end
    for _, name in ipairs({ "application/json", "application/a+json", "image/jsonl", "application/+jsonl", "jsonl",
      "application/jsonls", "application/jsonl+json" }) do
      assert.is_nil(media.stream_kind(name), name)
    end
  end)

  it("is YAML by its registered name, the older ones, or its suffix", function()
    for _, name in ipairs({ "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/vnd.yaml",
      "application/vnd.oai.openapi", "application/openapi+yaml" }) do
      assert.is_true(media.is_yaml(name), name)
      assert.is_true(media.is_text(name), name)
    end
    for _, name in ipairs({ "application/json", "application/vnd.oai.openapi+json", "text/plain", "" }) do
      assert.is_false(media.is_yaml(name), name)
    end
  end)
end)

describe("the media types of a content map", function()
  it("are JSON first, then others with JSON, then the rest by name", function()
    assert.same({ "application/json", "application/json; v=2", "a/b+json", "text/json", "image/png", "text/plain" },
      media.names({ ["text/plain"] = {}, ["image/png"] = {}, ["text/json"] = {}, ["a/b+json"] = {},
        ["application/json; v=2"] = {}, ["application/json"] = {} }))
  end)

  it("are names with a slash that lead to objects", function()
    assert.same({ "a/b" }, media.names({ ["a/b"] = {}, ["c/d"] = 1, ["x-e"] = {}, [1] = {} }))
    assert.same({}, media.names("a/b"))
    assert.same({}, media.names(nil))
  end)
end)
