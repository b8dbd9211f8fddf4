// A program as a user writes it; it fails where an answer is not what its type says.
import { connect, type Output } from "./client.ts";
import type { ShopItem, ShopListInputState } from "./shop.ts";

const shop = connect(process.argv[2] ?? "");

function check(holds: boolean, what: string): void {
  if (!holds) {
    throw new Error(what);
  }
}

function total(items: ShopItem[]): number {
  let cents = 0;
  for (const item of items) {
    cents += item.price.cents * (item.stock ?? 0);
  }
  return cents;
}

// Both kinds of a union, and null, are told apart.
function describe(item: ShopItem): string {
  const size = typeof item.size === "string" ? item.size.toUpperCase() : item.size.toFixed(1);
  const stock = item.stock === null ? "to order" : `${item.stock} left`;
  const label = item.labels["de"] ?? item.title;
  return `${label} (${size}): ${stock}${item.note ? `, ${item.note}` : ""}`;
}

// An enum is all its values.
function title(state: ShopListInputState): string {
  switch (state) {
    case "all":
      return "everything";
    case "in_stock":
      return "what is there";
  }
}

// A type that refers to itself.
function depth(category: Output<"shop.categories">): number {
  return 1 + Math.max(0, ...category.inside.map(depth));
}

async function list(): Promise<ShopItem[]> {
  const all = await shop.call("shop.list");
  if (all.error) {
    throw new Error(all.error.message);
  }
  check(all.data.length === 2, "two items");
  check(total(all.data) === 1750, "seven cups of tea");
  check(describe(all.data[0]!) === "Tee (L): 7 left", describe(all.data[0]!));
  check(describe(all.data[1]!) === "Cup (0.3): to order", describe(all.data[1]!));
  return all.data;
}

async function narrow(): Promise<void> {
  const states: ShopListInputState[] = ["all", "in_stock"];
  const counts: Record<string, number> = {};
  for (const state of states) {
    const some = await shop.call("shop.list", { state, limit: 10 });
    counts[title(state)] = some.data?.length ?? -1;
  }
  check(counts["everything"] === 2 && counts["what is there"] === 1, JSON.stringify(counts));
}

async function fail(): Promise<void> {
  const none = await shop.call("shop.get", { id: 99 });
  check(none.error?.code === "NO_ITEM", JSON.stringify(none));
  const one = await shop.call("shop.get", { id: 1 });
  check(one.data?.title === "Tea", JSON.stringify(one));
}

async function change(items: ShopItem[]): Promise<void> {
  const tea = items[0]!;
  const changed = await shop.call("shop.set_price", { id: tea.id, price: { ...tea.price, cents: 300 } });
  check(changed.data?.cents === 300 && changed.data.currency === "EUR", JSON.stringify(changed));
}

async function follow(): Promise<void> {
  const ids: number[] = [];
  for await (const event of shop.watch("shop.sold", { count: 3 })) {
    ids.push(event.id);
  }
  check(ids.join() === "1,2,3", ids.join());
}

async function small(): Promise<void> {
  const pong = await shop.call("shop.ping");
  check(pong.data === "pong", JSON.stringify(pong));
  const categories = await shop.call("shop.categories");
  check(categories.data !== undefined && depth(categories.data) === 2, JSON.stringify(categories));
}

await change(await list());
await narrow();
await fail();
await follow();
await small();
console.log("the program ran");
