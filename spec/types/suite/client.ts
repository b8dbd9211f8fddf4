// Calls what `operations serve` serves, with the types of `operations export --types typescript`.
import type { Operations } from "./shop.ts";

type Id = keyof Operations;
export type Input<K extends Id> = Operations[K]["input"];
export type Output<K extends Id> = Operations[K]["output"];
export type Failure<K extends Id> =
  | (Operations[K]["error"] & { message: string })
  | { code: "OTHER"; details?: unknown; message: string };
export type Answer<K extends Id> =
  | { data: Output<K>; error?: undefined }
  | { data?: undefined; error: Failure<K> };

type Subscriptions = { [K in Id]: Operations[K]["type"] extends "subscription" ? K : never }[Id];
type Calls = Exclude<Id, Subscriptions>;

export interface Shop {
  call<K extends Calls>(id: K, ...input: undefined extends Input<K> ? [input?: Input<K>] : [input: Input<K>]):
    Promise<Answer<K>>;
  watch<K extends Subscriptions>(id: K, input: Input<K>): AsyncIterable<Output<K>>;
}

export function connect(url: string): Shop {
  const post = (id: string, input: unknown, accept: string) =>
    fetch(`${url}/${id.replace(".", "/")}`, {
      method: "POST", body: JSON.stringify(input ?? {}),
      headers: { "content-type": "application/json", accept },
    });
  return {
    async call(id, ...input) {
      const answer = await post(id, input[0], "application/json");
      const body = await answer.json();
      return answer.ok ? { data: body }
        : { error: { code: body.code ?? "OTHER", message: body.detail, details: body.details } };
    },
    async *watch(id, input) {
      const answer = await post(id, input, "application/jsonl");
      const text = await answer.text();
      for (const line of text.split("\n").filter((line) => line !== "")) {
        yield JSON.parse(line);
      }
    },
  };
}
