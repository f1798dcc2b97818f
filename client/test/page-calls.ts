/** The page's calls, answered by a function: null means that the connection breaks. */
import { createApiClient } from "../api/api-client.js";
import type { Calls } from "../dashboard/session.js";

export interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

export function pageCalls(answer: (request: PageRequest) => object | null | Promise<object | null>): Calls {
  return createApiClient({
    baseUrl: "http://page.test",
    fetch: async (url, { method, headers, body }) => {
      const text = body === undefined ? "{}" : new TextDecoder().decode(body);
      const { pathname: path } = new URL(url);
      const idempotencyKey = headers["idempotency-key"] ?? null;
      const reply = await answer({ method, path, idempotencyKey, body: JSON.parse(text) });
      if (reply === null) throw new TypeError("connection lost");
      const status = (reply as { success?: unknown }).success === true ? 200 : 400;
      return { status, headers: { get: () => null }, text: async () => JSON.stringify(reply) };
    },
  });
}
