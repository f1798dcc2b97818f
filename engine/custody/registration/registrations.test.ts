/** What callers and operators of venue keys get: refusals, ends, warnings, keys that the venue makes. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../domain/errors.js";
import { type IssuingRegistrar, storedSecretIn } from "../../key-registrar.js";
import { KeyWorld, type Life, OWNER } from "./test/key-world.js";

const DAY_MS = 86_400_000;

async function begun(): Promise<{ world: KeyWorld; life: Life }> {
  const world = new KeyWorld("long");
  return { world, life: await world.live() };
}

async function registered(): Promise<{ world: KeyWorld; life: Life }> {
  const { world, life } = await begun();
  expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
  return { world, life };
}

async function rowCount(world: KeyWorld): Promise<number> {
  return (await world.store.scan("venue-key", { prefix: "", limit: 10 })).length;
}

describe("a registration", () => {
  it("is refused once a reply told of the key, and the key goes on trading", async () => {
    const { world, life } = await registered();
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("API_KEY_EXISTS");
    expect(world.venue.approvals).toBe(1);
    await world.judge(life);
  });

  it("of two at once is one: the second is refused", async () => {
    const { world, life } = await begun();
    const both = [1, 2].map(() => world.outcome(life, life.registrations.register(OWNER, true)));
    expect(await Promise.all(both)).toEqual(["done", "API_KEY_EXISTS"]);
    expect([world.venue.approvals, world.told.length]).toEqual([1, 1]);
  });

  it("shows no secret where the interface does not", async () => {
    const { world, life } = await begun();
    const key = await life.registrations.register(OWNER, false);
    expect([key.secretHex, world.venue.live(OWNER.account)]).toEqual([null, [key.signer]]);
  });

  it.each([
    ["NOT_FUNDED", "ACCOUNT_NOT_FUNDED"],
    ["KEY_LIMIT", "REGISTRATION_REJECTED"],
    ["BUSY", "VENUE_UNAVAILABLE"],
    ["RATE_LIMITED", "VENUE_RATE_LIMITED"],
    ["OTHER", "REGISTRATION_REJECTED"],
  ] as const)("that the venue refuses with %s is %s, and leaves nothing", async (reason, code) => {
    const { world } = await begun();
    const refusal = { kind: "refused", reason, venueText: "said the venue", retryAfterMs: null } as const;
    const registrar = { ...world.venue.registrar((act) => act()), send: async () => refusal };
    const life = await world.live(null, registrar);
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe(code);
    expect([await rowCount(world), life.registrations.list(OWNER.walletId)]).toEqual([0, []]);
  });

  it.each(["POLICY_REFUSED", "WALLET_FROZEN", "SIGNER_UNAVAILABLE", "RESTORED_STORE"] as const)(
    "that the signer refuses with %s leaves nothing, and sends nothing",
    async (code) => {
      const { world, life } = await begun();
      world.signerError = new ServiceError(code);
      expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe(code);
      expect([await rowCount(world), world.venue.agents.size]).toEqual([0, 0]);
    },
  );

  it("whose signer has a fault is said to have failed", async () => {
    const { world, life } = await begun();
    world.signerError = new ServiceError("FAILED_TO_SIGN");
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("FAILED_TO_REGISTER_KEY");
    expect(await rowCount(world)).toBe(0);
  });

  it("that arrives late is the one key, whoever asks meanwhile", async () => {
    const { world, life } = await begun();
    world.venue.weather = () => "late";
    world.venue.lateMs = () => 40_000;
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
    expect(await life.registrations.blocks(OWNER.walletId)).toEqual({});
    world.venue.weather = () => "fine";
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    await world.clock.advanceAsync(60_000);
    expect([world.venue.approvals, world.venue.live(OWNER.account).length]).toEqual([1, 1]);
    await world.judge(life);
  });
});

describe("a revocation", () => {
  it("waits for an approval that may yet arrive, and leaves no key behind", async () => {
    const { world, life } = await begun();
    world.venue.weather = () => "late";
    world.venue.lateMs = () => 60_000;
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("REGISTRATION_UNSETTLED");
    world.venue.weather = () => "fine";
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
    await world.clock.advanceAsync(120_000);
    expect([world.venue.live(OWNER.account), await rowCount(world)]).toEqual([[], 0]);
  });

  it("stops the use of the key at once, also where the signer is away, and ends at the venue later", async () => {
    const { world, life } = await registered();
    world.signerError = new ServiceError("SIGNER_UNAVAILABLE");
    expect(await life.registrations.revoke(OWNER)).toEqual({ count: 1, pending: 1, undroppable: 0 });
    expect(await life.registrations.blocks(OWNER.walletId)).toEqual({});
    expect(life.registrations.list(OWNER.walletId)).toMatchObject([{ status: "REVOKING" }]);
    expect(world.venue.live(OWNER.account).length).toBe(1);
    world.signerError = null;
    life.keeper.start();
    await world.clock.advanceAsync(60_000);
    expect([world.venue.live(OWNER.account), await rowCount(world)]).toEqual([[], 0]);
  });

  it("of nothing is API_KEY_NOT_FOUND; a new registration after one makes another key", async () => {
    const { world, life } = await registered();
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("API_KEY_NOT_FOUND");
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    expect([world.venue.approvals, world.venue.live(OWNER.account).length]).toEqual([2, 1]);
    await world.judge(life);
  });
});

describe("a rotation", () => {
  it("needs a key, and gives a second one under another name; the first lives to its end and is then dropped", async () => {
    const { world, life } = await begun();
    expect(await world.outcome(life, life.registrations.rotate(OWNER, true))).toBe("API_KEY_NOT_FOUND");
    const first = await life.registrations.register(OWNER, true);
    await world.clock.advanceAsync(30 * DAY_MS);
    const second = await life.registrations.rotate(OWNER, true);
    expect(second.name).not.toBe(first.name);
    expect(life.registrations.find(OWNER)).toMatchObject({ signer: second.signer, secretHex: null });
    expect(life.registrations.list(OWNER.walletId).map(({ status }) => status)).toEqual(["RETIRING", "ACTIVE"]);
    life.keeper.start();
    await world.clock.advanceAsync(59 * DAY_MS);
    expect(world.venue.live(OWNER.account).length).toBe(2);
    await world.clock.advanceAsync(DAY_MS + 60_000);
    expect(world.venue.live(OWNER.account)).toEqual([second.signer]);
    await world.judge(life);
  });

  it("is told to who listens, and a block that was kept leads to the next key, once its own has ended with its bytes gone", async () => {
    const { world, life } = await registered();
    life.keeper.start();
    const { registrations } = life;
    let told = 0;
    const end = registrations.listen(OWNER.walletId, () => {
      told++;
      throw new Error("of the listener");
    });
    const kept = registrations.storedBlocks(OWNER.walletId)[OWNER.venue];
    const secret = storedSecretIn(kept);
    expect([secret?.successor(), secret?.use(({ length }) => length)]).toEqual([null, 32]);
    await world.clock.advanceAsync(30 * DAY_MS);
    const second = await registrations.rotate(OWNER, true);
    expect(told).toBeGreaterThan(0);
    expect(secret?.successor()).toMatchObject({ signer: second.signer });
    expect(secret?.use(({ length }) => length)).toBe(32);
    await world.clock.advanceAsync(60 * DAY_MS + 60_000);
    expect([secret?.use(() => 1), Object.keys(registrations.storedBlocks(OWNER.walletId))]).toEqual([
      null,
      [OWNER.venue],
    ]);
    end();
    told = 0;
    expect(await world.outcome(life, registrations.revoke(OWNER))).toBe("done");
    expect([told, secret?.successor()]).toEqual([0, null]);
  });

  it("is refused while all names are in use", async () => {
    const { world, life } = await registered();
    for (const expected of ["done", "done", "API_KEY_LIMIT"])
      expect(await world.outcome(life, life.registrations.rotate(OWNER, true))).toBe(expected);
    expect(world.venue.live(OWNER.account).length).toBe(3);
    await world.judge(life);
  });
});

describe("the end of a key", () => {
  it("is warned of once a day in the two weeks before; then nothing trades with it, and the venue drops it", async () => {
    const { world, life } = await registered();
    life.keeper.start();
    await world.clock.advanceAsync(75 * DAY_MS);
    expect(world.warnings).toEqual([]);
    expect(life.keeper.counts().get(OWNER.venue)).toMatchObject({ active: 1, expiring: 0 });
    await world.clock.advanceAsync(3 * DAY_MS);
    expect(world.warnings.length).toBeGreaterThanOrEqual(2);
    expect(world.warnings.length).toBeLessThanOrEqual(4);
    expect(life.keeper.counts().get(OWNER.venue)).toMatchObject({ active: 1, expiring: 1 });
    world.venue.weather = () => "down";
    await world.clock.advanceAsync(12 * DAY_MS + 1_000);
    expect(await life.registrations.blocks(OWNER.walletId)).toEqual({});
    expect(await world.outcome(life, life.registrations.rotate(OWNER, true))).toBe("API_KEY_NOT_FOUND");
    world.venue.weather = () => "fine";
    await world.clock.advanceAsync(900_000);
    expect([world.venue.live(OWNER.account), await rowCount(world)]).toEqual([[], 0]);
  });
});

it("an approval that people decide on is asked for again as the same act, and never as a second key", async () => {
  const { world, life } = await begun();
  world.signerError = Object.assign(new ServiceError("SIGNER_UNAVAILABLE"), { status: 202 });
  for (let attempt = 0; attempt < 2; attempt++)
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("SIGNER_UNAVAILABLE");
  const [pending] = life.registrations.list(OWNER.walletId);
  expect(pending).toMatchObject({ status: "APPROVING" });
  world.signerError = null;
  const later = await world.live();
  const key = await later.registrations.register(OWNER, true);
  expect([key.signer, world.signatures, world.venue.approvals]).toEqual([pending?.signer, 1, 1]);
});

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
    expect(await life.registrations.blocks(OWNER.walletId)).toEqual({
      venueone: { name: "made", secret: "api secret" },
    });
    expect(await life.registrations.revoke(OWNER)).toEqual({ count: 1, pending: 0, undroppable: 1 });
    expect(await rowCount(world)).toBe(0);
  });

  it.each([
    [{ kind: "unknown" }, "VENUE_UNAVAILABLE"],
    [{ kind: "notSent", problem: "DOWN", retryAfterMs: null }, "VENUE_UNAVAILABLE"],
    [{ kind: "refused", reason: "OTHER", venueText: "no", retryAfterMs: null }, "REGISTRATION_REJECTED"],
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
