/**
 * venueone numbers its assets by their place in the list: what one answer says of a place, and what all later answers
 * say.
 */
import { describe, expect, it } from "vitest";
import { type Contract, LISTED_ROOMS, type ListedRoom } from "../support/listed-rooms.js";

const CONTRACTS = ["BTC", "ETH", "SOL", "BNB"].map((symbol, id): Contract => ({ symbol, id, isThousands: false }));
const [BTC, ETH, SOL, BNB] = CONTRACTS as [Contract, Contract, Contract, Contract];
const NEW: Contract = { symbol: "DOGE", id: CONTRACTS.length, isThousands: false };

function adopt(room: ListedRoom, contracts: readonly Contract[]): void {
  room.adopt(contracts.map((contract) => ({ contract, state: "fine" })));
}

const numbers = ({ instruments }: ListedRoom): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...instruments.values()]
      .filter(({ status }) => status === "TRADING")
      .map(({ symbol, nativeId }) => [symbol, nativeId]),
  );

describe("the places of venueone", () => {
  it("give a new asset no other's number where one answer has lost the row before it", () => {
    const room = LISTED_ROOMS.venueone();
    adopt(room, CONTRACTS);
    adopt(room, [BTC, ETH, SOL, NEW]);
    expect(numbers(room)).toEqual({ BTC: 0, ETH: 1, SOL: 2, BNB: 3 });
    adopt(room, [...CONTRACTS, NEW]);
    expect(numbers(room)).toEqual({ BTC: 0, ETH: 1, SOL: 2, BNB: 3, DOGE: 4 });
  });

  it("are another's where all answers say so: whose it was trades no more, and what is new is listed", () => {
    const room = LISTED_ROOMS.venueone();
    adopt(room, CONTRACTS);
    const renamed: Contract = { symbol: "DOGE", id: ETH.id, isThousands: false };
    for (let answer = 0; answer < 2; answer++) adopt(room, [BTC, renamed, SOL, BNB]);
    expect(numbers(room)).toEqual({ BTC: 0, DOGE: 1, SOL: 2, BNB: 3 });
    const later: Contract = { symbol: "XRP", id: 4, isThousands: false };
    adopt(room, [BTC, renamed, SOL, BNB, later]);
    expect(numbers(room)).toEqual({ BTC: 0, DOGE: 1, SOL: 2, BNB: 3, XRP: 4 });
    expect(room.instruments.get("ETH")).toMatchObject({ status: "HALTED" });
  });
});
