/** Creation and signing of both hosts over memory: in order, in turn, and what a caller is told. */
import { describe, expect, it, vi } from "vitest";
import { CustodyBench } from "./custody-bench.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

describe("a wallet", () => {
  it("is made by both parties and signs", async () => {
    const bench = await new CustodyBench().up();
    const wallet = await bench.create();
    if (typeof wallet === "string") throw new Error(wallet);
    expect(wallet).toMatchObject({ userId: "ada", ownerId: null, state: "ACTIVE", epoch: 1 });
    const signed = await bench.sign(wallet.walletId);
    expect(signed).toMatchObject({ signature: expect.stringMatching(/^0x[0-9a-f]{130}$/) });
    expect(bench.eventsOf("alert")).toEqual([]);
  });
});
