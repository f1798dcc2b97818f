/** Keys that the venue makes. */
import { describe, expect, it } from "vitest";
import { type IssuingRegistrar, storedSecretIn } from "../../key-registrar.js";
import { KeyWorld, OWNER, registered, rowCount } from "./test/key-world.js";

describe("a key that the venue makes", () => {
  const made = { account: OWNER.account, signer: OWNER.account, name: "made", expiresAtMs: null };
  const registrar = (issue: IssuingRegistrar["issue"]): IssuingRegistrar => ({
    kind: "issued",
    issue,
    block: (key, secret) => ({ name: key.name, secret: secret.use((bytes) => Buffer.from(bytes).toString("utf8")) }),
  });

  it("trades, is wiped where it was handed over, and a revocation says that the venue keeps it", async () => {
    const world = new KeyWorld("long");
    const secret = Buffer.from("api secret");
    const asked: string[] = [];
    const life = await world.live(
      null,
      registrar(async (account, sign) => {
        asked.push(account, (await sign({ kind: "typedData", text: "log in" })).slice(0, 2));
        return { kind: "done", key: made, secret };
      }),
    );
    expect(await life.registrations.register(OWNER, false)).toMatchObject({ status: "ACTIVE", secretHex: null });
    expect([asked, [...secret].every((byte) => byte === 0)]).toEqual([[OWNER.account, "0x"], true]);
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({
      venueone: { name: "made", secret: "api secret" },
    });
    expect(await life.registrations.revoke(OWNER)).toEqual({ count: 1, pending: 0, undroppable: 1 });
    expect(await rowCount(world)).toBe(0);
  });

  it("is registered beside an agent of before the other kind was configured, which trades no more", async () => {
    const { world, life: before } = await registered();
    const agent = before.registrations.find(OWNER);
    const life = await world.live(
      null,
      registrar(async () => ({ kind: "done", key: made, secret: Buffer.from("api secret") })),
    );
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({});
    expect(life.registrations.find(OWNER)).toBeNull();
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe("done");
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toMatchObject({ venueone: { name: "made" } });
    expect(life.registrations.list(OWNER.walletId)).toMatchObject([
      { status: "RETIRING", signer: agent?.signer },
      { status: "ACTIVE", signer: OWNER.account },
    ]);
    // And back.
    const again = await world.live();
    expect(await world.outcome(again, again.registrations.register(OWNER, true))).toBe("done");
    expect(world.venue.live(OWNER.account)).toHaveLength(2);
    expect(again.registrations.find(OWNER)?.signer).not.toBe(agent?.signer);
  });

  it("is followed by the next one where a block of it was kept", async () => {
    const world = new KeyWorld("long");
    let madeCount = 0;
    const life = await world.live(null, {
      ...registrar(async () => {
        madeCount++;
        return { kind: "done", key: { ...made, name: `made ${madeCount}` }, secret: Buffer.from("api secret") };
      }),
      block: ({ name }, secret) => ({ name, secret }),
    });
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe("done");
    const kept = storedSecretIn(life.registrations.blocks.stored(OWNER.walletId)[OWNER.venue]);
    expect(kept?.successor()).toBeNull();
    expect(await world.outcome(life, life.registrations.rotate(OWNER, false))).toBe("done");
    expect(kept?.successor()).toMatchObject({ name: "made 2" });
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe("done");
    expect(kept?.use(() => 1)).toBeNull();
    expect(kept?.successor()).toMatchObject({ name: "made 3" });
  });

  it("is opened once for its block, however often the block is asked for", async () => {
    const world = new KeyWorld("long");
    let opened = 0;
    const life = await world.live(null, {
      ...registrar(async () => ({ kind: "done", key: made, secret: Buffer.from("api secret") })),
      block: ({ name }, secret) => ({ name, apiKey: secret.use(() => ++opened), secret }),
    });
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe("done");
    const { blocks } = life.registrations;
    const first = blocks.stored(OWNER.walletId);
    for (let look = 0; look < 10; look++) expect(blocks.stored(OWNER.walletId)).toEqual(first);
    expect(opened).toBe(1);
  });

  it("is not asked for where no more can be kept", async () => {
    const world = new KeyWorld("long");
    let madeCount = 0;
    const life = await world.live(
      null,
      registrar(async () => {
        madeCount++;
        return { kind: "done", key: made, secret: Buffer.from(`secret ${madeCount}`) };
      }),
    );
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe("done");
    let outcome = "done";
    while (outcome === "done") outcome = await world.outcome(life, life.registrations.rotate(OWNER, false));
    expect([outcome, madeCount]).toEqual(["API_KEY_LIMIT", life.registrations.list(OWNER.walletId).length]);
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toMatchObject({
      venueone: { secret: `secret ${madeCount}` },
    });
  });

  it.each([
    [{ kind: "unknown" }, "VENUE_UNAVAILABLE"],
    [{ kind: "notSent", problem: "DOWN", retryAfterMs: null }, "VENUE_UNAVAILABLE"],
    [{ kind: "refused", reason: "OTHER", venueText: "no", retryAfterMs: null, isSpent: true }, "REGISTRATION_REJECTED"],
  ] as const)("and that does not come (%j) is %s, and leaves nothing", async (outcome, code) => {
    const world = new KeyWorld("long");
    const life = await world.live(
      null,
      registrar(async () => outcome),
    );
    expect(await world.outcome(life, life.registrations.register(OWNER, false))).toBe(code);
    expect(await rowCount(world)).toBe(0);
  });
});
