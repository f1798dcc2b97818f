import { describe, expect, it } from "vitest";
import * as demo from "./demo-accounts.js";

describe("the demo wallet", () => {
  it("has another id at each start, so that no page can know it", () => {
    const ids = Array.from({ length: 50 }, () => demo.mintDemoWallet().walletId);
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    // Nothing that is the same for everybody lets somebody act for it: reads by address are the operator's.
    expect(Object.keys(demo.DEMO_WALLET)).not.toContain("walletId");
  });
});
