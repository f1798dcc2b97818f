import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Caller } from "../http/caller.js";
import type { StreamAuth } from "./auth.js";
import { StreamCallers } from "./callers.js";
import type { Connection } from "./connection.js";

const BOUNDS = { authDeadlineMs: 5_000, unauthenticatedPerAddressMax: 2, connectionsPerKeyMax: 2 };

/** The ticket is the key's id. */
const auth = (mode: StreamAuth["mode"]): StreamAuth => ({
  mode,
  authenticate(claim) {
    if (!("ticket" in claim) || !claim.ticket.startsWith("pk_"))
      return { ok: false, error: new ServiceError("AUTH_BAD_TICKET") };
    const caller: Caller = { ownerId: `of ${claim.ticket}`, keyId: claim.ticket, scopes: new Set(["read"]) };
    return { ok: true, caller, settled: null };
  },
});

function setUp(mode: StreamAuth["mode"] = "signed") {
  const clock = new VirtualClock();
  const callers = new StreamCallers(auth(mode), BOUNDS, () => clock.monoNs());
  // Only its identity and its address are used.
  const connection = (address: string) => ({ address }) as unknown as Connection;
  return { clock, callers, connection };
}

function codeOf(run: () => unknown): string {
  try {
    run();
    return "passed";
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

describe("the time for a proof", () => {
  it("runs from the first wish that needs a key, is not prolonged by others, and ends with the proof", () => {
    const { clock, callers, connection } = setUp();
    const [one, two] = [connection("a"), connection("a")];
    for (const each of [one, two]) callers.admit(each, "a");
    clock.advance(60_000);
    expect(callers.isOverdue(one, clock.monoNs())).toBe(false);
    expect(codeOf(() => callers.require(one, "read"))).toBe("AUTH_REQUIRED");
    expect(codeOf(() => callers.require(two, "read"))).toBe("AUTH_REQUIRED");
    clock.advance(4_999);
    expect(codeOf(() => callers.require(one, "trade"))).toBe("AUTH_REQUIRED");
    callers.prove(two, { ticket: "pk_1" });
    expect(callers.isOverdue(one, clock.monoNs())).toBe(false);
    clock.advance(1);
    expect([callers.isOverdue(one, clock.monoNs()), callers.isOverdue(two, clock.monoNs())]).toEqual([true, false]);
    expect(codeOf(() => callers.require(two, "read"))).toBe("passed");
    expect(codeOf(() => callers.require(two, "trade"))).toBe("SCOPE_MISSING");
  });
});

describe("connections by address and key", () => {
  it("are counted exactly, whatever order they come, prove themselves and go in", () => {
    const step = fc.record({
      what: fc.constantFrom("open", "prove", "fail", "close"),
      which: fc.nat(7),
      address: fc.constantFrom("a", "b"),
      key: fc.constantFrom("pk_1", "pk_2"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { callers, connection } = setUp();
        const open: { connection: Connection; address: string; key: string | null }[] = [];
        for (const { what, which, address, key } of steps) {
          const one = open[which % Math.max(1, open.length)];
          if (what === "open") {
            const fresh = { connection: connection(address), address, key: null };
            const unproven = open.filter((each) => each.address === address && each.key === null).length;
            const isAdmitted = callers.admit(fresh.connection, address);
            expect(isAdmitted).toBe(unproven < BOUNDS.unauthenticatedPerAddressMax);
            if (isAdmitted) open.push(fresh);
            else callers.forget(fresh.connection);
          } else if (one === undefined) continue;
          else if (what === "close") {
            callers.forget(one.connection);
            callers.forget(one.connection);
            open.splice(open.indexOf(one), 1);
          } else if (what === "fail") {
            const expected = one.key === null ? "AUTH_BAD_TICKET" : "NOT_SUPPORTED";
            expect(codeOf(() => callers.prove(one.connection, { ticket: "no" }))).toBe(expected);
          } else if (one.key === null) {
            const ofKey = open.filter((each) => each.key === key).length;
            const proven = callers.prove(one.connection, { ticket: key });
            expect(proven === "TOO_MANY").toBe(ofKey >= BOUNDS.connectionsPerKeyMax);
            if (proven !== "TOO_MANY") one.key = key;
          }
        }
        for (const key of ["pk_1", "pk_2"])
          expect(new Set(callers.ofKey(key))).toEqual(
            new Set(open.filter((each) => each.key === key).map((each) => each.connection)),
          );
        for (const each of open) {
          expect(callers.ownerOf(each.connection)).toBe(each.key === null ? null : `of ${each.key}`);
          callers.forget(each.connection);
        }
        expect([callers.ofKey("pk_1"), callers.ofKey("pk_2")]).toEqual([[], []]);
      }),
    );
  });

  it("are everybody's in public mode, until a key is shown", () => {
    const { callers, connection } = setUp("public");
    const one = connection("a");
    for (let index = 0; index < 9; index++) expect(callers.admit(connection("a"), "a")).toBe(true);
    callers.admit(one, "a");
    expect([codeOf(() => callers.require(one, "trade")), callers.ownerOf(one)]).toEqual(["passed", null]);
    callers.prove(one, { ticket: "pk_1" });
    expect([codeOf(() => callers.require(one, "trade")), callers.ownerOf(one)]).toEqual(["SCOPE_MISSING", "of pk_1"]);
  });
});
