import createClient from "openapi-fetch";
import type { paths } from "./types";

const client = createClient<paths>({ baseUrl: process.env.URL });

async function main() {
  const gone: any = (await client.POST("/fail/declared", { body: { code: "GONE" } })).error;
  const png = { body: new Uint8Array([0, 255, 13, 10, 1]) as any, bodySerializer: (body: any) => body,
    headers: { "Content-Type": "image/png" } };
  const events: any = (await client.GET("/count/up", { params: { query: { n: 2 } }, parseAs: "text",
    headers: { Accept: "text/event-stream" } })).data;
  console.log(JSON.stringify({
    flat: (await client.GET("/text/flat", { params: { query: { word: "a b&ü", n: 7, exact: true, list: [1, 2.5] } } })).data,
    least: (await client.GET("/text/flat", { params: { query: { word: "x" } } })).data,
    path: (await client.GET("/things/{id}", { params: { path: { id: "x y-é" }, query: { q: "?" } } })).data,
    put: (await client.PUT("/things/{id}", { params: { path: { id: 7 } }, body: { body: [1, 2] } })).data,
    made: (await client.POST("/any/made", { body: { n: 1 } })).data,
    grown: (await client.POST("/tree/grow", { body: { task: { id: 1, parts: [{ id: 2 }] } } })).data,
    gone: { code: gone.code, details: gone.details, status: gone.status },
    wrong: (await client.POST("/any/made", { body: { n: "x" } as any })).response.status,
    bytes: (await client.POST("/bytes/size", png)).data,
    text: (await client.GET("/bytes/text", { params: { query: { n: 3 } }, parseAs: "text" })).data,
    events: events.match(/^data: /gm).length - 1, // the end is an event, too
  }));
}
main();
