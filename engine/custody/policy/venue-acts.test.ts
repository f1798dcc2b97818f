/** What rooms read is joined so that the clearest reading counts, and no act has two meanings. */
import { describe, expect, it } from "vitest";
import type { TypedData } from "../digest/typed-data-types.js";
import { type ActReading, joinVenueActs, type RoomActs, type TextReading } from "./venue-acts.js";

const NEEDS = { destinations: "none", amounts: false } as const;
const TYPED: TypedData = {
  types: new Map([["Post", []]]),
  primaryType: "Post",
  domain: { name: "Forum" },
  message: new Map(),
};
const MESSAGE = new TextEncoder().encode("Ｈｉ THERE");

function room(typed: ActReading["kind"], text: TextReading["kind"] = "none"): RoomActs {
  const act = { act: "pay", account: null, destination: null, spent: null };
  return {
    acts: { pay: NEEDS },
    readTypedData: () => (typed === "act" ? { kind: "act", act } : { kind: typed }),
    readText: () => (text === "act" ? { kind: "act", act: "pay" } : { kind: text }),
  };
}

function joined(...kinds: readonly ActReading["kind"][]): string {
  const acts = joinVenueActs(kinds.map((kind, index) => [`v${index}`, room(kind)]));
  const reading = acts.readTypedData(TYPED);
  return reading.kind === "act" ? reading.act.act : reading.kind;
}

describe("acts of several rooms", () => {
  it.each<[string, ...ActReading["kind"][]]>([
    ["none"],
    ["none", "none", "none"],
    ["likeness", "none", "likeness"],
    ["unreadable", "likeness", "unreadable"],
    ["unreadable", "unreadable", "unreadable"],
    ["v1.pay", "none", "act"],
    ["v0.pay", "act", "likeness"],
    ["v0.pay", "act", "unreadable"],
    ["likeness", "act", "act"],
  ])("are read as %s", (result, ...kinds) => {
    expect(joined(...kinds)).toBe(result);
  });

  it.each<[string, ...TextReading["kind"][]]>([
    ["none", "none", "none"],
    ["likeness", "none", "likeness"],
    ["v0.pay", "act", "likeness"],
    ["likeness", "act", "act"],
  ])("are read in texts as %s", (result, ...kinds) => {
    const acts = joinVenueActs(kinds.map((kind, index) => [`v${index}`, room("none", kind)]));
    const reading = acts.readText(MESSAGE);
    expect(reading.kind === "act" ? reading.act : reading.kind).toBe(result);
  });

  it("are known by the venue and their own name alone", () => {
    const acts = joinVenueActs([["v0", room("none")]]);
    expect(acts.names).toEqual(["v0.pay"]);
    expect(acts.needsOf("v0.pay")).toEqual(NEEDS);
    for (const name of ["pay", "v1.pay", "v0.", "__proto__", "v0.toString"]) expect(acts.needsOf(name)).toBeNull();
  });

  it("are given the text as it is and the letters of it", () => {
    const seen: string[] = [];
    const listening: RoomActs = {
      ...room("none"),
      readText(text, letters) {
        seen.push(text, letters);
        return { kind: "none" };
      },
    };
    joinVenueActs([["v0", listening]]).readText(MESSAGE);
    expect(seen).toEqual(["Ｈｉ THERE", "hithere"]);
  });
});
