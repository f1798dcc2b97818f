import { expect, it } from "vitest";
import { cheat, decideFailure, failureOf, fault, refused, transport, violation } from "./outcome.js";

const errors = {
  transport: transport("timeout"),
  refused: refused("POLICY", 7),
  violation: violation("tau"),
  cheat: cheat("extension"),
  fault: fault(new Error("store")),
};

it("each class comes to its own handler and to no other", () => {
  for (const [kind, error] of Object.entries(errors)) {
    const decided = decideFailure(failureOf(error), {
      transport: ({ cause }) => `transport ${cause}`,
      refused: ({ code, detail }) => `refused ${code} ${detail}`,
      violation: ({ field }) => `violation ${field}`,
      cheat: ({ check }) => `cheat ${check}`,
      fault: () => "fault",
    });
    expect(decided.split(" ")[0]).toBe(kind);
  }
});

it("a handler that leaves a class out is refused by the compiler", () => {
  const some = { transport: () => 1, refused: () => 1, violation: () => 1, fault: () => 1 };
  // True where the table without a handler of a cheat is none: otherwise this line does not compile.
  const isRefused: typeof some extends Parameters<typeof decideFailure<number>>[1] ? false : true = true;
  expect(isRefused).toBe(true);
  expect(decideFailure(failureOf(errors.fault), { ...some, cheat: () => 2 })).toBe(1);
});

it("an exception of ours is a fault, whatever was thrown", () => {
  const error = new TypeError("bug");
  expect(failureOf(error)).toEqual({ kind: "fault", error });
  expect(failureOf("text")).toEqual({ kind: "fault", error: "text" });
});

it("the text of an error names the class alone", () => {
  for (const [kind, error] of Object.entries(errors)) expect(error.message).toBe(kind);
});
