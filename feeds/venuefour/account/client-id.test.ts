import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientIdHexOf, uuidOf } from "./client-id.js";

const HEX = fc.stringMatching(/^[0-9a-f]{32}$/);

describe("client ids", () => {
  it("are UUIDs of version 4 that lead back to themselves", () => {
    fc.assert(
      fc.property(HEX, (hex) => {
        const uuid = uuidOf(hex);
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        const back = clientIdHexOf(uuid);
        expect(back).toHaveLength(32);
        expect(uuidOf(back ?? "")).toBe(uuid);
      }),
    );
  });

  it("keep every bit but version and variant", () => {
    expect(uuidOf("0".repeat(32))).toBe("00000000-0000-4000-8000-000000000000");
    expect(uuidOf("f".repeat(32))).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
    expect(uuidOf("8c1f0a52d9e34b7790aa41c2d5e6f701")).toBe("8c1f0a52-d9e3-4b77-90aa-41c2d5e6f701");
  });

  it.each([
    "",
    "8c1f0a52d9e34b7790aa41c2d5e6f701",
    "8C1F0A52-D9E3-4B77-90AA-41C2D5E6F701",
    "8c1f0a52-d9e3-1b77-90aa-41c2d5e6f701",
    "8c1f0a52-d9e3-4b77-c0aa-41c2d5e6f701",
    "8c1f0a52-d9e3-4b77-90aa-41c2d5e6f70",
  ])("that were never written here are none: %s", (text) => {
    expect(clientIdHexOf(text)).toBeNull();
  });
});
