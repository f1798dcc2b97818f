/** Links, offered sizes, and marks in the market's steps. */
import { describe, expect, it } from "vitest";
import { refusalTitle } from "./exit.js";
import { sizeLabel, tickText } from "./format.js";
import { addressText, readAddress } from "./page-address.js";
import { offeredSizes } from "./sizes.js";

describe("the page's address", () => {
  it.each([
    ["", { symbol: "BTC", side: "SELL", size: null }],
    ["#eth", { symbol: "ETH", side: "SELL", size: null }],
    ["#symbol=sol&side=buy&size=1,250.5", { symbol: "SOL", side: "BUY", size: "1250.5" }],
    ["#size=3", { symbol: "BTC", side: "SELL", size: "3" }],
    ["#symbol=&size=-1&side=UP", { symbol: "BTC", side: "SELL", size: null }],
    ["#%E0%A4%A", { symbol: "%E0%A4%A", side: "SELL", size: null }],
    [`#${"A".repeat(41)}`, { symbol: "BTC", side: "SELL", size: null }],
    ["#%3CB%3E", { symbol: "<B>", side: "SELL", size: null }],
  ] as const)("%s is read, and read back from its own link", (hash, address) => {
    expect(readAddress(hash)).toEqual(address);
    expect(readAddress(addressText(address))).toEqual(address);
  });
});

describe("the sizes offered for a symbol", () => {
  it.each([
    ["97418.3", "0.001", ["0.01", "0.1", "1", "10"]],
    ["3100", "0.01", ["0.2", "2", "20", "200"]],
    ["0.0000123", "1000", ["50000000", "500000000", "5000000000", "50000000000"]],
    ["250000", "0.01", ["", "0.02", "0.2", "2"]],
    ["0", "1", []],
    ["-5", "1", []],
    [null, "1", []],
  ] as const)("are right at a price of %s, from %s on", (price, least, sizes) => {
    expect(offeredSizes(price, least)).toEqual(sizes);
  });

  it("have short labels", () => {
    expect(["0.01", "500", "5000", "20000", "500000000", "50000000000"].map(sizeLabel)).toEqual([
      "0.01",
      "500",
      "5,000",
      "20K",
      "500M",
      "50B",
    ]);
  });
});

describe("a mark in the market's steps", () => {
  it.each([
    ["92313.93259409", "0.1", "92313.9"],
    ["92319.17797", "1", "92319"],
    ["92319", "0.1", "92319.0"],
    ["-1049.422765", "0.5", "-1049.5"],
    ["0.00001234567", "0.00000001", "0.00001235"],
    ["12.5", null, "12.5"],
    ["12.5", "0", "12.5"],
    [null, "0.1", null],
  ] as const)("is right for %s in steps of %s", (text, tick, shown) => {
    expect(tickText(text, tick)).toBe(shown);
  });
});

describe("a refusal as text", () => {
  const of = (...codes: string[]) =>
    refusalTitle("NO_ELIGIBLE_VENUE", "No", { candidates: codes.map((reasonCode) => ({ exchange: "x", reasonCode })) });
  it("distinguishes a size too large, an unlisted symbol and a service that starts", () => {
    expect(of("SYMBOL_NOT_LISTED", "CLIENT_SIDE_ONLY")).toBe("Not listed on any venue here");
    expect(of("SYMBOL_NOT_LISTED", "BOOK_INVALID", "VENUE_UNHEALTHY")).toBe("No venue is ready: books are starting");
    expect(of("BOOK_INVALID", "DEPTH_INSUFFICIENT")).toBe("No venue can take this size");
    expect(of()).toBe("No venue can take this size");
    expect(refusalTitle("RATE_LIMITED", "Too many requests", {})).toBe("Too many requests");
  });
});
