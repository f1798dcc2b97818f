/** Faults at the service's door: they change what a caller sent, or what the service replied. */
import type { Json, Reply, RequestOptions } from "../../../../gateway/test/client.js";
import type { TradeClient } from "../trade-trial.js";

type Fields = Record<string, unknown>;

/** `change` edits body and headers of a request on its way in; not of requests without a body. */
export function hearing(change: (body: Fields, headers: Record<string, string>, path: string) => void) {
  return (client: TradeClient): TradeClient => ({
    send(path, options = {}) {
      if (typeof options.body !== "string") return client.send(path, options);
      const body = JSON.parse(options.body) as Fields;
      const headers = { ...(options.headers as Record<string, string> | undefined) };
      change(body, headers, path);
      const changed: RequestOptions = { ...options, headers, body: JSON.stringify(body) };
      return client.send(path, changed);
    },
  });
}

/** `change` edits `data` of the replies that have it. */
export function saying(change: (data: Fields, path: string) => void) {
  return (client: TradeClient): TradeClient => ({
    async send(path, options) {
      const reply = await client.send(path, options);
      const { data } = (reply.body ?? {}) as { readonly data?: Json };
      if (typeof data !== "object" || data === null) return reply;
      const body = structuredClone(reply.body) as unknown as { readonly data: Fields };
      change(body.data, path);
      return { ...reply, body } as unknown as Reply;
    },
  });
}

/** Returns the object below these names, or an empty one that nobody sees. */
export function below(fields: Fields, ...names: readonly string[]): Fields {
  return names.reduce<Fields>((at, name) => (at[name] ?? {}) as Fields, fields);
}
