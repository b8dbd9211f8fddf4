// A program as a user writes it; it fails where an answer is not what its type says.
import { connect, type Failure, type Input, type Output } from "./client.ts";
import type { Operations, ShopErrorOUTOFSTOCK, ShopItem, ShopItemPrice, ShopListInputState } from "./shop.ts";

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

// A basket: the input of an operation is a type like others.
type Basket = Input<"shop.buy">;
type Line = Basket["lines"][number];

class Shopping {
  readonly #lines = new Map<number, Line>();

  add(item: ShopItem, count = 1): this {
    const line = this.#lines.get(item.id);
    this.#lines.set(item.id, { id: item.id, count: (line?.count ?? 0) + count });
    return this;
  }

  basket(coupon?: string | null): Basket {
    const lines = [...this.#lines.values()];
    return coupon === undefined ? { lines } : { lines, coupon };
  }
}

function money(price: ShopItemPrice): string {
  const signs: Record<ShopItemPrice["currency"], string> = { EUR: "€", USD: "$" };
  return `${(price.cents / 100).toFixed(2)} ${signs[price.currency]}`;
}

// The declared errors are told apart by their codes; each has its details.
function explain(error: Failure<"shop.buy">): string {
  switch (error.code) {
    case "NO_ITEM":
      return `no such item: ${error.message}`;
    case "OUT_OF_STOCK":
      return left(error);
    case "OTHER":
      return error.message;
  }
}

function left(error: ShopErrorOUTOFSTOCK): string {
  return `only ${error.details.left} of item ${error.details.id}`;
}

async function buy(items: ShopItem[]): Promise<void> {
  const [tea, cup] = items;
  if (!tea || !cup) {
    throw new Error("two items");
  }
  const bought = await shop.call("shop.buy", new Shopping().add(tea, 2).add(cup).add(tea).basket());
  if (bought.error) {
    throw new Error(explain(bought.error));
  }
  check(bought.data.counts[String(tea.id)] === 3, JSON.stringify(bought.data.counts));
  check(money(bought.data.total) === "16.50 €", money(bought.data.total));
  check(bought.data.counts["99"] === undefined, "nothing else was bought");

  const many = await shop.call("shop.buy", new Shopping().add(tea, 1000).basket("SPRING"));
  check(many.error?.code === "OUT_OF_STOCK" && explain(many.error) === "only 7 of item 1", JSON.stringify(many));
  const unknown = await shop.call("shop.buy", { lines: [{ id: 99, count: 1 }], coupon: null });
  check(unknown.error !== undefined && explain(unknown.error).startsWith("no such item"), JSON.stringify(unknown));
}

// The branches of a union have a member in common that tells them apart; a branch that is forgotten does not compile.
type Happened = Output<"shop.history">[number];

function never(value: never): never {
  throw new Error(JSON.stringify(value));
}

function story(event: Happened): string {
  switch (event.kind) {
    case "sold":
      return `${event.count} of ${event.id} sold`;
    case "restocked":
      return `${event.count} of ${event.id} by ${event.by ?? "somebody"}`;
    default:
      return never(event);
  }
}

async function remember(): Promise<void> {
  const stocked = await shop.call("shop.restock", { id: 1, count: 5 });
  check(stocked.data?.stock === 12, JSON.stringify(stocked));
  const history = await shop.call("shop.history");
  const told = (history.data ?? []).map(story);
  check(told.join("; ") === "3 of 1 sold; 1 of 2 sold; 5 of 1 by ada", told.join("; "));
}

// Ids by their kind, from the types alone.
type OfKind<Kind> = { [K in keyof Operations]: Operations[K]["type"] extends Kind ? K : never }[keyof Operations];

function kinds(): void {
  const streams: OfKind<"subscription">[] = ["shop.sold"];
  const queries: OfKind<"query">[] = ["shop.list", "shop.get", "shop.categories", "shop.history", "shop.ping"];
  check(streams.length + queries.length === 6, "six that change nothing");
}

const items = await list();
await buy(items);
await change(items);
await remember();
kinds();
await narrow();
await fail();
await follow();
await small();
console.log("the program ran");
