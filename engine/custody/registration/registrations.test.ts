/** What callers and operators of venue keys get: refusals, ends, warnings. */
import { describe, expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import { storedSecretIn } from "../../key-registrar.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { decodeKeyRow } from "./key-row.js";
import { ACT_MS } from "./registrations.js";
import { begun, KeyWorld, OWNER, registered, rowCount } from "./test/key-world.js";

const DAY_MS = 86_400_000;

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

  it("behind others at a venue that does not answer waits no longer than two of them", async () => {
    const world = new KeyWorld("long");
    const registrar = world.venue.registrar((act) => act());
    const slow = async <T>(timeoutMs: number, answer: T): Promise<T> => {
      await delay(world.clock, timeoutMs);
      return answer;
    };
    const life = await world.live(null, {
      ...registrar,
      send: (_act, _signature, { timeoutMs }) => slow(timeoutMs, { kind: "unknown" }),
      look: (_key, _secret, { timeoutMs }) =>
        slow(timeoutMs, { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null }),
    });
    const outcomes: string[] = [];
    for (let caller = 0; caller < 12; caller++)
      life.registrations.register(OWNER, true).catch(({ code }: ServiceError) => outcomes.push(code));
    await world.clock.advanceAsync(2 * ACT_MS + 1_000);
    expect(outcomes).toHaveLength(12);
    expect(new Set(outcomes)).toEqual(new Set(["REGISTRATION_UNSETTLED", "OVERLOADED"]));
  });

  it("follows a key that the venue has dropped by itself, and no key that it may have", async () => {
    const { world, life } = await registered();
    await world.clock.advanceAsync(DAY_MS);
    world.venue.weather = () => "lost";
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("API_KEY_EXISTS");
    world.venue.weather = () => "fine";
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("API_KEY_EXISTS");
    const pruned = world.venue.agents.get(world.venue.live(OWNER.account)[0] ?? "");
    if (pruned !== undefined) pruned.endedMs = world.clock.wallMs();
    await world.clock.advanceAsync(60_000);
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    expect([world.venue.approvals, world.told.length]).toEqual([2, 2]);
    life.keeper.start();
    await world.clock.advanceAsync(60_000);
    expect(await rowCount(world)).toBe(1);
    expect(life.registrations.list(OWNER.walletId)).toMatchObject([{ status: "ACTIVE" }]);
    await world.judge(life);
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
    const refusal = {
      kind: "refused",
      reason,
      venueText: "said the venue",
      retryAfterMs: null,
      isSpent: true,
    } as const;
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

  it.each(["SENT", "ACTIVE", "answered"])(
    "that a full disk stops at its row %s says whether the venue may have the key, and asked for again it is that one",
    async (step) => {
      const { world, life } = await begun();
      world.store.gate = async ({ writes }) => {
        const [key] = writes.flatMap(({ key: name, value }) => (value === null ? [] : decodeKeyRow(name, value).keys));
        if ((key?.isAnswered === true ? "answered" : key?.state) === step) throw storeUnavailable("DISK_FULL");
      };
      const code = step === "SENT" ? "STORE_UNAVAILABLE" : "REGISTRATION_UNSETTLED";
      expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe(code);
      expect(world.venue.approvals).toBe(step === "SENT" ? 0 : 1);
      world.store.gate = async () => {};
      expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
      expect([world.venue.approvals, world.told.length]).toEqual([1, 1]);
      await world.judge(life);
    },
  );

  it("that arrives late is the one key, whoever asks meanwhile", async () => {
    const { world, life } = await begun();
    world.venue.weather = () => "late";
    world.venue.lateMs = () => 40_000;
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({});
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
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({});
    expect(life.registrations.list(OWNER.walletId)).toMatchObject([{ status: "REVOKING" }]);
    expect(world.venue.live(OWNER.account).length).toBe(1);
    world.signerError = null;
    life.keeper.start();
    await world.clock.advanceAsync(60_000);
    expect([world.venue.live(OWNER.account), await rowCount(world)]).toEqual([[], 0]);
  });

  it("stops the key that trades at once, also while a rotation is in doubt at a venue that hangs", async () => {
    const { world, life } = await registered();
    world.venue.weather = () => "late";
    world.venue.lateMs = () => 120_000;
    expect(await world.outcome(life, life.registrations.rotate(OWNER, true))).toBe("REGISTRATION_UNSETTLED");
    const revoked = world.outcome(life, life.registrations.revoke(OWNER));
    await world.clock.advanceAsync(0);
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({});
    expect(await revoked).toBe("REGISTRATION_UNSETTLED");
    world.venue.weather = () => "fine";
    expect(await world.outcome(life, life.registrations.revoke(OWNER))).toBe("done");
    life.keeper.start();
    await world.clock.advanceAsync(300_000);
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

  it("puts the new key in the place of the former one once the venue takes it", async () => {
    const world = new KeyWorld("short");
    const life = await world.live();
    expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
    const traded = async () =>
      Object.values(await life.registrations.blocks.opened(OWNER.walletId)) as { signer: string }[];
    const [first] = await traded();
    expect(world.venue.takes(first?.signer ?? "")).toBe(true);
    let rotated = "";
    const rotation = life.registrations.rotate(OWNER, true).then(({ signer }) => {
      rotated = signer;
    });
    while (rotated === "") {
      const [block] = await traded();
      expect(world.venue.takes(block?.signer ?? "")).toBe(true);
      await world.clock.advanceAsync(250);
    }
    await rotation;
    expect(await traded()).toMatchObject([{ signer: rotated }]);
    expect(world.venue.takes(rotated)).toBe(true);
  });

  it("is told to who listens, and a block that was kept leads to the next key, once its own has ended with its bytes gone", async () => {
    const { world, life } = await registered();
    life.keeper.start();
    const { registrations } = life;
    let told = 0;
    const end = registrations.blocks.listen(OWNER.walletId, () => {
      told++;
      throw new Error("of the listener");
    });
    const kept = registrations.blocks.stored(OWNER.walletId)[OWNER.venue];
    const secret = storedSecretIn(kept);
    expect([secret?.successor(), secret?.use(({ length }) => length)]).toEqual([null, 32]);
    await world.clock.advanceAsync(30 * DAY_MS);
    const second = await registrations.rotate(OWNER, true);
    expect(told).toBeGreaterThan(0);
    expect(secret?.successor()).toMatchObject({ signer: second.signer });
    expect(secret?.use(({ length }) => length)).toBe(32);
    await world.clock.advanceAsync(60 * DAY_MS + 60_000);
    expect([secret?.use(() => 1), Object.keys(registrations.blocks.stored(OWNER.walletId))]).toEqual([
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
    expect(await life.registrations.blocks.opened(OWNER.walletId)).toEqual({});
    expect(await world.outcome(life, life.registrations.rotate(OWNER, true))).toBe("API_KEY_NOT_FOUND");
    world.venue.weather = () => "fine";
    await world.clock.advanceAsync(900_000);
    expect([world.venue.live(OWNER.account), await rowCount(world)]).toEqual([[], 0]);
  });
});
