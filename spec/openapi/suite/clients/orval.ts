import * as api from "./api";

async function main() {
  const gone: any = (await api.failDeclared({ code: "GONE" })).data;
  console.log(JSON.stringify({
    flat: (await api.textFlat({ word: "a b&ü", n: 7, exact: true, list: [1, 2.5] })).data,
    least: (await api.textFlat({ word: "x" })).data,
    path: (await api.pathGet(encodeURIComponent("x y-é"), { q: "?" })).data,
    put: (await api.pathPut(7, { body: [1, 2] })).data,
    made: (await api.anyMade({ n: 1 })).data,
    grown: (await api.treeGrow({ task: { id: 1, parts: [{ id: 2 }] } })).data,
    gone: { code: gone.code, details: gone.details, status: gone.status },
    wrong: (await api.anyMade({ n: "x" } as any)).status,
  }));
}
main();
