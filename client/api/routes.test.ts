/** The client's table is the service's: method, path, key and kind of reply of every operation. */
import { expect, it } from "vitest";
import type { Operation } from "../../schemas/operation.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { ROUTES } from "./routes.js";

it("every operation of the service has its line, and no other exists", () => {
  const lines = Object.entries<Operation>(OPERATIONS).map(([id, { method, path, headers, reply }]) => {
    const isKeyed = headers.some(({ name }) => name === "Idempotency-Key");
    const kind = reply === "text/plain" ? " text" : reply === "application/json" ? " json" : "";
    return [id, `${method} ${path}${isKeyed ? " keyed" : ""}${kind}`];
  });
  expect(ROUTES).toEqual(Object.fromEntries(lines));
});
