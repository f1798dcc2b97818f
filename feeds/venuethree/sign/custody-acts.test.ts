/** The text that the room makes for a new key is the one that the co-signer's policy knows. */
import { describe, expect, it } from "vitest";
import { lettersOf } from "../../../engine/custody/policy/venue-acts.js";
import { custodyActs } from "./custody-acts.js";
import { changePublicKeyMessage } from "./sign.js";

function reading(text: string) {
  return custodyActs.readText(text, lettersOf(text));
}

describe("the text of a new key", () => {
  const text = changePublicKeyMessage("ab".repeat(40), 7, 3, 5);

  it("is the act of registering one", () => {
    expect(reading(text)).toEqual({ kind: "act", act: "registerKey" });
  });

  it("is a likeness with anything changed", () => {
    for (const changed of [`${text} `, text.replace("ab", "AB"), text.replace("Only", "only"), text.slice(0, -1)])
      expect(reading(changed)).toEqual({ kind: "likeness" });
  });
});
