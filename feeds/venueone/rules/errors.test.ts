import { describe, expect, it } from "vitest";
import { classifyText, isSignerProblem, nonceProblem } from "./errors.js";

/** Every text of the venue sheet, section 5.4, as the venue prints it live. */
const TABLE: [string, string, string][] = [
  ["Price must be divisible by tick size. asset=3", "PRICE", "P"],
  ["Order must have minimum value of $10. asset=173", "SIZE", "P"],
  ["Order must have minimum value of 10 USDC. asset=10107", "SIZE", "P"],
  ["Insufficient margin to place order. asset=0", "INSUFFICIENT_MARGIN", "F"],
  ["Reduce only order would increase position. asset=3", "REDUCE_ONLY", "S"],
  ["Reduce-only TWAP order would increase position.", "REDUCE_ONLY", "S"],
  ["Post only order would have immediately matched, bbo was 83767@83768. asset=0", "PRICE", "S"],
  ["Order could not immediately match against any resting orders. asset=78", "NO_LIQUIDITY", "S"],
  ["Invalid TP/SL price. asset=4", "PRICE", "P"],
  ["No liquidity available for market order. asset=1", "NO_LIQUIDITY", "S"],
  ["Order would increase open interest while open interest is capped asset=1", "VENUE_STATE", "S"],
  ["Order rejected due to price more aggressive than oracle while at open interest cap asset=1", "PRICE", "S"],
  ["Order would increase open interest too quickly asset=1", "VENUE_STATE", "R"],
  ["Insufficient spot balance asset=10107", "INSUFFICIENT_MARGIN", "F"],
  ["Order has insufficient spot balance to trade", "INSUFFICIENT_MARGIN", "F"],
  ["Order price too far from oracle", "PRICE", "P"],
  ["Price too far from oracle asset=2", "PRICE", "P"],
  ["Order would cause position to exceed margin tier limit at current leverage asset=2", "INSUFFICIENT_MARGIN", "F"],
  ["Order price cannot be more than 80% away from the reference price asset=2", "PRICE", "P"],
  ["Order has invalid price. asset=2", "PRICE", "P"],
  ["Order has invalid size.", "SIZE", "P"],
  ["Order has zero size. asset=2", "SIZE", "P"],
  ["Orders are empty.", "SIZE", "P"],
  ["Order was never placed, already canceled, or filled. asset=4", "NOT_FOUND", "S"],
  ["Only post-only orders allowed immediately after network upgrade", "VENUE_STATE", "R"],
  ["Builder fee has not been approved asset=1", "AUTH", "A"],
  ["User or API Wallet 0xefc07321d3d6a8fa4961306c7bf555f0723f28c1 does not exist.", "AUTH", "A"],
  ["L1 error: User or API Wallet 0xefc07321d3d6a8fa4961306c7bf555f0723f28c1 does not exist.", "AUTH", "A"],
  ["Must deposit before performing actions. User: 0xc6e7df1339786bf130d2e5ad9dbba05c408d8efb", "AUTH", "A"],
  ["Unable to recover signer.", "AUTH", "A"],
  ["Invalid nonce: duplicate nonce 1700000000000", "VENUE_STATE", "A"],
  ["Invalid nonce: nonce too low 5 < 9", "VENUE_STATE", "A"],
  ["Invalid nonce: nonce too high 9 > 5", "VENUE_STATE", "A"],
  ["Action already expired", "VENUE_STATE", "R"],
  ["Cannot modify canceled or filled order", "NOT_FOUND", "S"],
  ["Cannot switch leverage type with open position.", "VENUE_STATE", "S"],
  ["Position does not use isolated margin.", "VENUE_STATE", "S"],
  ["Signed action over weight limit of 200.", "SIZE", "P"],
  [
    "Too many cumulative requests sent (97460 > 97456) for cumulative volume traded $87457.46. Place taker orders to free up 1 request per USDC traded.",
    "RATE_LIMITED",
    "R",
  ],
  [
    "Cannot set scheduled cancel time until enough volume traded. Required: $1000000. Traded: $12066.75.",
    "VENUE_STATE",
    "S",
  ],
  ["Action disabled when unified account is active", "VENUE_STATE", "S"],
  ["Insufficient balance for withdrawal.", "INSUFFICIENT_MARGIN", "F"],
  ["Insufficient balance for token transfer", "INSUFFICIENT_MARGIN", "F"],
  ["Insufficient HYPE balance for token transfer gas.", "INSUFFICIENT_MARGIN", "F"],
  ["Invalid send", "SIZE", "P"],
  ["Unknown token X", "NOT_FOUND", "P"],
  ["Invalid perp DEX", "NOT_FOUND", "P"],
  ["Invalid decimal number", "SIZE", "P"],
  ["Send amount cannot be zero", "SIZE", "P"],
  ["Invalid number of decimals", "SIZE", "P"],
  ["Agent can only send asset to same user or their sub-accounts.", "AUTH", "A"],
  ["Too many extra agents for cumulative volume traded. Current limit is 3", "VENUE_STATE", "S"],
  ["Extra agent already used.", "VENUE_STATE", "S"],
  ["User has pending agent removal", "VENUE_STATE", "R"],
  ["Agent valid_until already expired.", "AUTH", "A"],
  ["Vault not registered: 0x1d9470d4b963f552e6f671a81619d395877bf409", "AUTH", "A"],
  ["Unknown coin X", "NOT_FOUND", "P"],
];

describe("refusal texts of venueone", () => {
  it.each(TABLE)("%s", (text, reason, errorClass) => {
    expect(classifyText(text)).toMatchObject({ reason, errorClass });
    expect(classifyText(text).code).not.toBe("refused");
  });

  it("takes a text it does not know for a refusal all the same", () => {
    expect(classifyText("Something new. asset=1")).toEqual({ reason: "VENUE_STATE", errorClass: "S", code: "refused" });
    expect(classifyText("")).toMatchObject({ reason: "VENUE_STATE" });
  });

  it.each(["Duplicate cloid asset=1", "Order with this cloid is already open. asset=2"])(
    "has a client id in use looked up: %s",
    (text) => {
      expect(classifyText(text).reason).toBe("DUPLICATE_CLIENT_ID");
    },
  );

  it("reads the number a nonce refusal names", () => {
    expect(nonceProblem("Invalid nonce: duplicate nonce 1700000000000")).toEqual({
      kind: "duplicate",
      seenNonce: 1_700_000_000_000,
    });
    expect(nonceProblem("Invalid nonce: nonce too low 5 < 9")).toEqual({ kind: "tooLow", seenNonce: 9 });
    expect(nonceProblem("Invalid nonce: nonce too high 9 > 5")).toEqual({ kind: "tooHigh" });
    expect(nonceProblem("Action already expired")).toBeNull();
  });

  it("knows which refusals speak of the signer", () => {
    expect(isSignerProblem(classifyText("User or API Wallet 0x12 does not exist."))).toBe(true);
    expect(isSignerProblem(classifyText("Unable to recover signer."))).toBe(false);
  });
});
