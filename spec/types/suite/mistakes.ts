// Eight mistakes, each in the line behind its comment; the checker has to find all of them, and nothing else.
import { connect, type Output } from "./client.ts";
import type { ShopItem, ShopListInputState } from "./shop.ts";

const shop = connect("");

// MISTAKE: an operation that is not there
await shop.call("shop.lst");
// MISTAKE: a required member is missing
await shop.call("shop.get", {});
// MISTAKE: a member has another kind
await shop.call("shop.get", { id: "1" });
// MISTAKE: a member that is not there
await shop.call("shop.list", { status: "all" });
// MISTAKE: a value that the enum lacks
const state: ShopListInputState = "sold";
// MISTAKE: null is not looked for
export const count = (item: ShopItem): number => item.stock + 1;
// MISTAKE: an optional member is taken for one that is there
export const size = (item: ShopItem): number => item.note.length;
// MISTAKE: a subscription is called
await shop.call("shop.sold", { count: 1 });

export const right: [string, Output<"shop.ping">] = [state, "pong"];
