import { describe, expect, it } from "vitest";
import { ReadsOfKeys } from "./reads-of-keys.js";

describe("reads that run for keys", () => {
  it("end when their key is revoked: those that run, of that key, each once", () => {
    const listeners: ((keyId: string) => void)[] = [];
    const running = new ReadsOfKeys({ onRevoked: (listener) => void listeners.push(listener) });
    const revoke = (keyId: string): void => {
      for (const listener of listeners) listener(keyId);
    };
    const ended: string[] = [];
    const add = (keyId: string | null, name: string): (() => void) => {
      const leave = running.add(keyId, () => {
        ended.push(name);
        leave();
      });
      return leave;
    };
    const over = add("pk_a", "over");
    add("pk_a", "first");
    add("pk_a", "second");
    add("pk_b", "of another");
    add(null, "of nobody");
    over();
    over();
    revoke("pk_a");
    expect(ended).toEqual(["first", "second"]);
    revoke("pk_a");
    add("pk_a", "later");
    revoke("pk_a");
    expect(ended).toEqual(["first", "second", "later"]);
  });
});
