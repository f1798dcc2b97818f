/** An estimate in a token's smallest unit, from the number that the venue prints. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { ScriptedHttp } from "../../shared/test/scripted-http.js";
import { OPTIONS } from "../test/trading-harness.js";
import { FeeEstimates } from "./fee-estimates.js";

async function estimate(printed: string, decimals: number) {
  const http = new ScriptedHttp(new VirtualClock());
  http.reply(200, `{"code":"000000","data":{"gasCost":${printed}},"success":true}`);
  const token = { chainId: 1, symbol: "USDT", address: `0x${"5".repeat(40)}`, decimals, resetsAllowance: true };
  const read = await new FeeEstimates(http).read(token, "spot", OPTIONS);
  return read.ok ? read.value : read.code;
}

describe("an estimate", () => {
  it.each<[printed: string, decimals: number, units: bigint]>([
    ["1.7E-4", 18, 170_000_000_000_000n],
    ["0.0891", 6, 89_100n],
    ["1", 6, 1_000_000n],
    ['"0.5"', 6, 500_000n],
    ["1E-7", 6, 1n],
    ["0.0000011", 6, 2n],
    ["0.1234567890123456789012", 18, 123_456_789_012_345_679n],
    ["0", 6, 0n],
  ])("of %s at %s places is exact, or rounded up", async (printed, decimals, units) => {
    expect(await estimate(printed, decimals)).toBe(units);
  });

  it.each(["-0.1", "null", '"much"', "1E400"])("of %s is none", async (printed) => {
    expect(await estimate(printed, 18)).toBe("BAD_RESPONSE");
  });
});
