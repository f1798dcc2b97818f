import { describe, expect, it } from "vitest";
import * as demo from "./demo-accounts.js";
import { LOCAL_VENUES } from "./venues.js";

describe("the demo wallet", () => {
  it("has another id at each start, so that no page can know it", () => {
    const ids = Array.from({ length: 50 }, () => demo.mintDemoWallet().walletId);
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    // A value that everybody knows must not let anybody act for the wallet: reads by address are the operator's.
    expect(Object.keys(demo.DEMO_WALLET)).not.toContain("walletId");
  });
});

describe("the demo trader's credentials, as they are printed", () => {
  it("hold all that each venue signs with, the index of its key included", () => {
    expect(demo.DEMO_CREDENTIALS).toMatchObject({
      venueone: { privateKey: LOCAL_VENUES.venueone.trader.agentPrivateKey },
      venuetwo: { apiKey: expect.any(String) as string, apiSecret: expect.any(String) as string },
      venuethree: { accountIndex: 501, apiKeyIndex: 5 },
      venuefour: { apiKey: expect.any(String) as string, walletAddress: expect.any(String) as string },
    });
  });
});
