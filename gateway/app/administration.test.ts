/** What the configuration still holds of sealing keys once they were read. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { openAdministration } from "./administration.js";
import type { KekSetting } from "./config-access.js";

const HEX = Array.from({ length: 32 }, (_, index) => (index * 37 + 11).toString(16).slice(-2).padStart(2, "0")).join(
  "",
);

async function open(kek: KekSetting, formerKek: KekSetting | null = null, store = createMemoryStore()) {
  const parts = { store, access: { kek, formerKek }, clock: new VirtualClock(), logger: silentLogger };
  const administration = await openAdministration(parts);
  await administration.close();
  return store;
}

const hex = (text: string): KekSetting => ({ kind: "environment", hex: text });
const words = (text: string): KekSetting => ({ kind: "passphrase", passphrase: Buffer.from(text) });

describe("sealing keys of the configuration", () => {
  it("are forgotten once they were read, the former one too", async () => {
    const [first, again, former] = [hex(HEX), hex(HEX), hex(HEX.split("").reverse().join(""))];
    const store = await open(first);
    await open(again, former, store);
    for (const setting of [first, again, former]) expect(setting).toEqual({ kind: "environment", hex: "" });
  });

  it("are forgotten where they are refused", async () => {
    const store = await open(hex(HEX));
    const [wrong, former] = [hex(HEX.split("").reverse().join("")), words("correct horse battery staple")];
    await expect(open(wrong, former, store)).rejects.toMatchObject({ code: "SEAL_KEY_REFUSED" });
    expect(JSON.stringify([wrong, former])).not.toMatch(/[0-9a-f]{16}|\d/);
  });

  it("that are a passphrase are overwritten, and what is left is refused, never taken for one of zeros", async () => {
    const setting = words("correct horse battery staple");
    const bytes = setting.kind === "passphrase" ? setting.passphrase : new Uint8Array();
    await open(setting);
    expect([...bytes].every((byte) => byte === 0)).toBe(true);
    expect(setting).toMatchObject({ passphrase: { length: 0 } });
    await expect(open(setting)).rejects.toMatchObject({ code: "SEAL_KEY_REFUSED" });
  });
});
