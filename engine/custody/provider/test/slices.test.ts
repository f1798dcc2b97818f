/**
 * Long steps of both parties over a virtual event loop: a message takes a turn, and what goes on between two turns is
 * counted in slices. A signature beside creations waits for few of them, and a session that ends at any of them leaves
 * nothing behind it.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../domain/errors.js";
import { otherParty, type Party } from "../../mpc/base/parameters.js";
import { SessionCore } from "../../mpc/sessions/session-core.js";
import { decodeStateRow } from "../../mpc/state/state-row.js";
import { headerOf, type Message, NO_SID } from "../../mpc/wire/header.js";
import { kindNamed } from "../../mpc/wire/message-types.js";
import { CREATE_MS } from "../wallet-creations.js";
import type { Wallet, WalletSignature } from "../wallet-provider.js";
import { CustodyBench, type Told } from "./custody-bench.js";
import { madeWallet, storedRow } from "./made-wallet.js";
import type { MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

const taken = vi.hoisted(() => ({ buffers: [] as Buffer[] }));
vi.mock("../../sealing/secret-bytes.js", async (original) => {
  const real = await original<typeof import("../../sealing/secret-bytes.js")>();
  const secretBuffer = (byteLength: number) => {
    const buffer = real.secretBuffer(byteLength);
    taken.buffers.push(buffer);
    return buffer;
  };
  return { ...real, secretBuffer };
});

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const { resume } = SessionCore.prototype;
const TURNS_MAX = 20_000;
const made = madeWallet();
const written = () => taken.buffers.filter((buffer) => buffer.some((byte) => byte !== 0)).length;

afterEach(() => vi.restoreAllMocks());

/** Both parties, each with an event loop of its own, whose turns a test makes. */
class Turning extends CustodyBench {
  readonly due: readonly [(() => void)[], (() => void)[]];
  turnCount = 0;
  sliceCount = 0;

  constructor(rows?: readonly [MemoryRows, MemoryRows]) {
    const due: [(() => void)[], (() => void)[]] = [[], []];
    // Another seed than that of the wallet that is there.
    super({ seed: "slices-1", isFresh: true, nextTurn: (party: Party) => (run) => void due[party].push(run) }, rows);
    this.due = due;
    this.link.fate = () => ({ delayMs: 1 });
    const counted = (): void => {
      this.sliceCount++;
    };
    vi.spyOn(SessionCore.prototype, "resume").mockImplementation(function (this: SessionCore<string>) {
      counted();
      return resume.call(this);
    });
  }

  /** Of both loops: what is due runs, then the messages that were sent arrive. */
  async turn(): Promise<void> {
    this.turnCount++;
    for (const due of this.due) for (const run of due.splice(0)) run();
    await this.clock.advanceAsync(1);
    await this.quiet();
  }

  async turnsUntil(isReached: () => boolean): Promise<number> {
    const from = this.turnCount;
    while (!isReached()) {
      if (this.turnCount - from > TURNS_MAX) throw new Error("never reached");
      await this.turn();
    }
    return this.turnCount - from;
  }

  isLong(party: Party): boolean {
    return this.due[party].length > 0;
  }

  async meetInTurns(): Promise<this> {
    await this.start(0);
    await this.start(1);
    this.link.connect();
    await this.turnsUntil(() => this.service.status().problem === null);
    return this;
  }
}

/** A call and what it came to. */
class Call<Value> {
  told: Told<Value> | null = null;

  constructor(call: Promise<Value>) {
    call.then(
      (value) => {
        this.told = value;
      },
      (error: unknown) => {
        this.told = error instanceof ServiceError ? error.code : String(error);
      },
    );
  }

  get isTold(): boolean {
    return this.told !== null;
  }
}

function expectSignedBy(told: Told<WalletSignature> | null, publicKey: string): void {
  if (told === null || typeof told === "string") throw new Error(told ?? "nothing is told");
  const bytes = Buffer.from(told.signature.slice(2), "hex");
  const found = secp256k1.Signature.fromCompact(bytes.subarray(0, 64)).addRecoveryBit((bytes.at(64) ?? 0) - 27);
  expect(found.recoverPublicKey(told.digest.slice(2)).toHex()).toBe(publicKey.slice(2));
}

async function turning(): Promise<Turning> {
  return new Turning(made.rows).meetInTurns();
}

describe("a signature", () => {
  const LONG: readonly (readonly [string, Party, number])[] = [
    ["third flight at the co-signer", 1, 1],
    ["fourth flight at the service", 0, 1],
    ["fifth flight at the co-signer", 1, 2],
  ];
  const userIds = ["ada 2", "bob", "cyd"];

  it.each(LONG.flatMap((long) => [1, 2].map((creations) => [...long, creations] as const)))(
    "beside the %s (party %i, its long step %i), of %i creations, takes the turns that it takes alone",
    async (_name, party, step, creations) => {
      const alone = await turning();
      const first = new Call(alone.signing(made.id));
      const turnsAlone = await alone.turnsUntil(() => first.isTold);
      expect(alone.sliceCount).toBe(0);

      const both = await turning();
      const created = userIds.slice(0, creations).map((userId) => new Call(both.service.create(userId, null)));
      await both.turnsUntil(() => both.isLong(party));
      for (let done = 1; done < step; done++) {
        await both.turnsUntil(() => !both.isLong(party));
        await both.turnsUntil(() => both.isLong(party));
      }
      const slices = both.sliceCount;
      const signature = new Call(both.signing(made.id));
      expect(await both.turnsUntil(() => signature.isTold)).toBe(turnsAlone);
      expectSignedBy(signature.told, made.wallet.publicKey);
      // Four calls at the service and three at the co-signer, in as many turns as both are in.
      const beside = both.sliceCount - slices;
      expect(beside).toBeGreaterThan(0);
      expect(beside).toBeLessThanOrEqual(2 * (turnsAlone + 1) + 7);
      expect(created.some(({ isTold }) => isTold)).toBe(false);
      await both.turnsUntil(() => created.every(({ isTold }) => isTold));
      expect(created.map(({ told }) => typeof told)).toEqual(created.map(() => "object"));
    },
  );

  it("after the other as long as a creation lasts makes the creation no longer by a turn", async () => {
    const alone = await turning();
    const quiet = new Call(alone.service.create("bob", null));
    const turnsAlone = await alone.turnsUntil(() => quiet.isTold);

    const both = await turning();
    const creation = new Call(both.service.create("bob", null));
    let signed = 0;
    const keepSigning = async (): Promise<void> => {
      for (; !creation.isTold; signed++) await both.signing(made.id, `t:pay ${signed}`);
    };
    const signing = new Call(keepSigning());
    const turns = await both.turnsUntil(() => creation.isTold);
    await both.turnsUntil(() => signing.isTold);
    expect(turns).toBeLessThanOrEqual(turnsAlone);
    expect(signed).toBeGreaterThan(10);
  });
});

/** What ends every session of a party; the parties meet again some turns later. */
const DISTURBANCES: Readonly<Record<string, (both: Turning) => Promise<void>>> = {
  "the connection is lost": async (both) => both.link.cut(),
  "the time of all sessions is over": (both) => both.pass(30_001),
  "the service stops": async (both) => {
    await both.service.stop();
    both.link.cut();
    // Callers of this start have waited for its end.
    await both.pass(CREATE_MS);
    await both.start(0);
  },
  "the co-signer stops": async (both) => {
    await both.cosigner.stop();
    both.link.cut();
    await both.start(1);
  },
  "the store of the service takes nothing": storeFails(0),
  "the store of the co-signer takes nothing": storeFails(1),
};

/** The store of a party takes nothing, which a signature shows it; two seconds later it works again. */
function storeFails(party: Party): (both: Turning) => Promise<void> {
  return async (both) => {
    both.parties[party].isFailing = true;
    const shown = new Call(both.signing(made.id, "t:shows it"));
    await both.turnsUntil(() => shown.isTold || both.parties.some((each) => each.isDead));
    both.parties[party].isFailing = false;
    await both.pass(2_000);
  };
}

describe("a long step under way", () => {
  it.each([
    ["service", 0],
    ["co-signer", 1],
  ] as const)(
    "at the %s is given up with the connection: no slice of it follows, and all is wiped",
    async (_name, party) => {
      taken.buffers.length = 0;
      const both = await turning();
      const creation = new Call(both.service.create("bob", null));
      await both.turnsUntil(() => both.isLong(party));
      for (let turn = 0; turn < 8; turn++) await both.turn();
      expect([both.isLong(party), written() > 0]).toEqual([true, true]);
      const slices = both.sliceCount;
      both.link.cut();
      await both.quiet();
      expect([written(), both.sliceCount]).toEqual([0, slices]);
      await both.pass(CREATE_MS);
      expect([creation.told, both.sliceCount]).toEqual(["SIGNER_UNAVAILABLE", slices]);
    },
  );

  it("does not keep a party from stopping", async () => {
    taken.buffers.length = 0;
    const both = await turning();
    const creation = new Call(both.service.create("bob", null));
    await both.turnsUntil(() => both.isLong(1));
    for (let turn = 0; turn < 8; turn++) await both.turn();
    const slices = both.sliceCount;
    await both.cosigner.stop();
    await both.service.stop();
    await both.quiet();
    expect([written(), both.sliceCount]).toEqual([0, slices]);
    await both.pass(CREATE_MS);
    expect(creation.told).toBe("SIGNER_UNAVAILABLE");
  });
});

/** What a party has of each wallet. */
function stateOf(rows: MemoryRows): Record<string, unknown> {
  const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString("hex");
  const found: [string, unknown][] = [...rows.wallets].map(([id, { row, shares }]) => {
    const { activeEpoch, status, stage } = decodeStateRow(row) ?? {};
    const share = shares.get(activeEpoch ?? 0);
    return [id, { activeEpoch, status, stage, tag: hex(share?.tag), key: hex(share?.publicKey) }];
  });
  return Object.fromEntries(found);
}

describe("a notice of a freeze", () => {
  it.each([0, 1] as const)(
    "waits for a long step of its wallet at party %s, then freezes, and nothing is made",
    async (party) => {
      taken.buffers.length = 0;
      const both = await turning();
      const refresh = new Call(both.service.refresh(made.id, 0));
      await both.turnsUntil(() => both.isLong(party));
      void both.link.inject(party, freezeOf(otherParty(party)));
      const row = () => storedRow(both.rows[party]);
      await both.turn();
      expect([both.isLong(party), row()?.status]).toEqual([true, "active"]);
      await both.turnsUntil(() => refresh.isTold);
      expect(row()).toMatchObject({ status: "frozen", stage: "none", activeEpoch: 1 });
      // The one whose name the notice has is not frozen itself, and hears of it when the two meet.
      both.link.cut();
      both.link.connect();
      await both.turnsUntil(
        () => both.service.status().problem === null && both.due.every((runs) => runs.length === 0),
      );
      const signature = new Call(both.signing(made.id));
      await both.turnsUntil(() => signature.isTold);
      expect(signature.told).toBe("WALLET_FROZEN");
      for (const rows of both.rows) expect(storedRow(rows)).toMatchObject({ status: "frozen", activeEpoch: 1 });
      expect(written()).toBe(0);
    },
  );
});

function freezeOf(from: Party): Message {
  const walletId = Buffer.from(made.id.replaceAll("-", ""), "hex");
  const names = { walletId, epoch: 1, ctr: 0n };
  return { header: headerOf(kindNamed("freeze"), from, names, NO_SID, 0), body: new Uint8Array(0) };
}

describe("two creations, a refresh and a signature at once", () => {
  /** Sessions are ended behind every so many slices. */
  const stride = Number(process.env["SLICES"] ?? 127);

  /** Runs all of them, and ends every session behind the slice of this number. */
  async function run(slice: number, disturb: (both: Turning) => Promise<void>): Promise<Turning> {
    taken.buffers.length = 0;
    const both = await turning();
    const creations = ["bob", "cyd"].map((userId) => new Call(both.service.create(userId, null)));
    const others = [new Call(both.service.refresh(made.id, 0)), new Call(both.signing(made.id))];
    const isDone = () => [...creations, ...others].every(({ isTold }) => isTold);
    await both.turnsUntil(() => both.sliceCount > slice || isDone());
    if (!isDone()) {
      expect(written()).toBeGreaterThan(0);
      await disturb(both);
      await both.turn();
      both.link.connect();
    }
    await both.turnsUntil(() => isDone() && both.service.status().problem === null);
    await expectAgreed(both, creations);
    return both;
  }

  async function expectAgreed(both: Turning, creations: readonly Call<Wallet>[]): Promise<void> {
    // What is in doubt is settled ten seconds later.
    await both.pass(10_000);
    await both.turnsUntil(() => both.due.every((runs) => runs.length === 0));
    const { wallets } = both.service.list(null, null, 10);
    expect(stateOf(both.rows[0])).toEqual(stateOf(both.rows[1]));
    expect(Object.keys(stateOf(both.rows[0])).length).toBe(wallets.length);
    for (const { told } of creations) if (typeof told !== "string") expect(wallets).toContainEqual(told);
    expect(new Set(wallets.map(({ address }) => address)).size).toBe(wallets.length);
    expect(wallets.map(({ publicKey }) => publicKey)).toContain(made.wallet.publicKey);
    for (const { walletId, publicKey } of wallets) {
      const signature = new Call(both.signing(walletId));
      await both.turnsUntil(() => signature.isTold);
      expectSignedBy(signature.told, publicKey);
    }
    await both.service.stop();
    await both.cosigner.stop();
    expect(written()).toBe(0);
  }

  it("that nothing disturbs are all done", async () => {
    const both = await run(Number.POSITIVE_INFINITY, async () => {});
    expect(both.service.list(null, null, 10).wallets.length).toBe(3);
  });

  it.each(Object.keys(DISTURBANCES))(
    "leave no wallet that the parties differ in, and nothing unwiped, whichever slice %s behind",
    async (name) => {
      const disturb = DISTURBANCES[name];
      if (disturb === undefined) throw new Error("no such disturbance");
      const at = Object.keys(DISTURBANCES).indexOf(name);
      for (let slice = 7 * at; slice < 500; slice += stride) await run(slice, disturb);
    },
  );
});
