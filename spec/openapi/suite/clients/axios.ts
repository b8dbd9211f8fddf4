import axios from "axios";
import * as api from "./api";

// axios writes lists as `list[]`, unless it is told what the document says.
axios.defaults.paramsSerializer = { indexes: null };
axios.defaults.validateStatus = () => true;

async function main() {
  const gone: any = (await api.failDeclared({ code: "GONE" })).data;
  const events: any = (await api.countUp({ n: 2 }, { headers: { Accept: "text/event-stream" } })).data;
  console.log(JSON.stringify({
    flat: (await api.textFlat({ word: "a b&ü", n: 7, exact: true, list: [1, 2.5] })).data,
    least: (await api.textFlat({ word: "x" })).data,
    path: (await api.pathGet(encodeURIComponent("x y-é"), { q: "?" })).data,
    put: (await api.pathPut(7, { body: [1, 2] })).data,
    made: (await api.anyMade({ n: 1 })).data,
    grown: (await api.treeGrow({ task: { id: 1, parts: [{ id: 2 }] } })).data,
    gone: { code: gone.code, details: gone.details, status: gone.status },
    wrong: (await api.anyMade({ n: "x" } as any)).status,
    bytes: (await api.bytesSize(Buffer.from([0, 255, 13, 10, 1]) as any, { headers: { "Content-Type": "image/png" } })).data,
    text: (await api.bytesText({ n: 3 })).data,
    events: events.match(/^data: /gm).length - 1, // the end is an event, too
  }));
}
main();
