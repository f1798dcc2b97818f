/** A block that was kept while the key of its wallet was followed by another. */
import { expect, it } from "vitest";
import { StoredSecret } from "../../../engine/key-registrar.js";
import type { OpenSession } from "../../../engine/ports.js";
import { openWithStored } from "./stored-secret.js";

/** Keys that open, by name; the last of them trades. */
const live = new Map<string, number>();

function block(name: string): unknown {
  const open = () => {
    const byte = live.get(name);
    return byte === undefined ? null : new Uint8Array(32).fill(byte);
  };
  const present = () => {
    const last = [...live.keys()].at(-1);
    return last === undefined ? null : block(last);
  };
  return { apiKey: name, apiSecret: new StoredSecret(name, open, present) };
}

function opened(raw: unknown): unknown {
  const seen: unknown[] = [];
  const result = openWithStored(raw, "apiSecret", (fields) => {
    const { apiKey, apiSecret } = fields as { apiKey: string; apiSecret: Uint8Array };
    seen.push([apiKey, apiSecret[0]]);
    return { ok: false, problem: "of the test" } satisfies OpenSession;
  });
  return seen.length > 0 ? seen : (result as { problem?: string }).problem;
}

it("opens with its own key while that lives, then with the one that followed, with that one's other fields", () => {
  live.clear();
  const kept = block("first");
  expect(opened(kept)).toMatch(/revoked/);
  live.set("first", 1);
  expect(opened(kept)).toEqual([["first", 1]]);
  live.set("second", 2);
  expect(opened(kept)).toEqual([["first", 1]]);
  live.delete("first");
  expect(opened(kept)).toEqual([["second", 2]]);
  live.clear();
  expect(opened(kept)).toMatch(/revoked/);
});

it("takes what a caller gave as it is", () => {
  const seen: unknown[] = [];
  for (const raw of [{ apiSecret: "text" }, null, 7, { apiSecret: { stored: "first" } }])
    openWithStored(raw, "apiSecret", (fields) => {
      seen.push(fields);
      return { ok: false, problem: "of the test" };
    });
  expect(seen).toEqual([{ apiSecret: "text" }, null, 7, { apiSecret: { stored: "first" } }]);
});
