/** A store or a backup folder that takes nothing at any durable effect: what callers hear, and what is left behind. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { ServiceError } from "../../../domain/errors.js";
import type { Party } from "../../mpc/base/parameters.js";
import type { Wallet } from "../wallet-provider.js";
import { abortMessage } from "../host-messages.js";
import { CustodyBench, madeRows } from "./custody-bench.js";
import type { MemoryRows } from "./memory-party.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let made: { readonly rows: [MemoryRows, MemoryRows]; readonly wallet: Wallet };
let id: string;

beforeAll(async () => {
  made = await madeRows();
  id = made.wallet.walletId;
});

type Act = "creation" | "signature" | "refresh";
const ACTS = ["creation", "signature", "refresh"] as const;

function begun(both: CustodyBench, act: Act): Promise<unknown> {
  if (act === "creation") return both.service.create("ada", null);
  return act === "refresh" ? both.service.refresh(id, 0) : both.signing(id);
}

const upFor = (act: Act): Promise<CustodyBench> =>
  new CustodyBench({}, act === "creation" ? undefined : made.rows).up();

/** The code of a refusal with its reason, or `done`. */
async function outcomeOf(both: CustodyBench, call: Promise<unknown>): Promise<string> {
  const said = call.then(
    () => "done",
    (error: unknown) => {
      if (!(error instanceof ServiceError)) throw error;
      return [error.code, error.context["reason"]].filter((word) => word !== undefined).join(" ");
    },
  );
  return both.told(said);
}

/** From its durable effect `at` on, store and folder of the party take nothing. False: the act has fewer effects. */
async function failed(act: Act, party: Party, at: number): Promise<{ both: CustodyBench; told: string } | null> {
  const both = await upFor(act);
  const memory = both.parties[party];
  let point = 0;
  let what: "store" | "folder" | null = null;
  memory.onDurable = (before, isBackup) => {
    if (!before || what !== null || point++ !== at) return;
    what = isBackup ? "folder" : "store";
    memory.isFailing = true;
    memory.isBackupFailing = true;
  };
  const told = await outcomeOf(both, begun(both, act));
  if (what === null) return null;
  memory.onDurable = () => {};
  memory.isFailing = false;
  memory.isBackupFailing = false;
  await both.pass(12_000);
  await both.meet();
  return { both, told: `${what}: ${told}` };
}

describe("a store and a folder that take nothing from a durable effect on", () => {
  for (const act of ACTS)
    for (const party of [0, 1] as const)
      it(`in a ${act}, at party ${party}, are 503 with the reason, and nothing is half done`, async () => {
        let count = 0;
        for (let at = 0; at < 20; at++) {
          const found = await failed(act, party, at);
          if (found === null) break;
          count++;
          const { both, told } = found;
          const name = `effect ${at}: ${told}`;
          // Which of its parts it was the co-signer tells its own operator alone.
          const reason = party === 1 ? "COSIGNER_FAILED" : told.startsWith("folder") ? "BACKUP_FAILED" : "STORE_FAILED";
          const expected = [`SIGNER_UNAVAILABLE ${reason}`];
          // Once S has decided, C's session has ended: it falls silent, and settles when its store works.
          if (party === 1 && both.link.log.includes("0 activate")) expected.push("SIGNER_UNAVAILABLE");
          expect(expected, name).toContain(told.replace(/^[a-z]+: /, ""));
          const sizes = both.rows.map((rows) => rows.wallets.size);
          const wallets = both.service.list(null, null, 10).wallets;
          expect(sizes, name).toEqual([wallets.length, wallets.length]);
          for (const wallet of wallets) {
            expect(wallet, name).toMatchObject({ state: "ACTIVE" });
            expect(await both.sign(wallet.walletId), name).toMatchObject({ digest: expect.any(String) });
          }
          if (wallets.length === 0) expect(await both.create("ada"), name).toMatchObject({ userId: "ada" });
        }
        expect(count).toBeGreaterThan(0);
      });
});

describe("a full backup folder", () => {
  it("at the service is 503 with its reason, once, and the co-signer has nothing of the wallet", async () => {
    for (const act of ["creation", "refresh"] as const) {
      const both = await upFor(act);
      both.parties[0].isBackupFailing = true;
      expect(await outcomeOf(both, begun(both, act))).toBe("SIGNER_UNAVAILABLE BACKUP_FAILED");
      expect(both.link.log.filter((line) => line === "0 kg1" || line === "0 rf1").length).toBe(1);
      expect(both.rows[1].wallets.size).toBe(act === "creation" ? 0 : 1);
      expect(both.rows[1].backups.length).toBe(act === "creation" ? 0 : 1);
      both.parties[0].isBackupFailing = false;
      expect(await outcomeOf(both, begun(both, act))).toBe("done");
    }
  });
});

describe("writes of the co-signer that fail", () => {
  const keygens = (both: CustodyBench) => both.link.log.filter((line) => line === "0 kg1").length;

  it("to its backup folder end a creation and a refresh at once, and the reason names the co-signer", async () => {
    for (const act of ["creation", "refresh"] as const) {
      const both = await upFor(act);
      both.parties[1].isBackupFailing = true;
      expect(await outcomeOf(both, begun(both, act))).toBe("SIGNER_UNAVAILABLE COSIGNER_FAILED");
      expect(both.link.log.filter((line) => line === "0 kg1" || line === "0 rf1").length).toBe(1);
      expect(both.eventsOf("alert")).toContain("1 BACKUP_FAILED");
      expect(both.rows.map(({ wallets }) => wallets.size)).toEqual(act === "creation" ? [0, 0] : [1, 1]);
      both.parties[1].isBackupFailing = false;
      // S keeps the file of the epoch that was dropped; the next one is another.
      both.seed = "host-2";
      expect(await outcomeOf(both, begun(both, act))).toBe("done");
    }
  });

  it("to its store end a creation at once, too", async () => {
    const both = await upFor("creation");
    both.parties[1].isFailing = true;
    expect(await outcomeOf(both, begun(both, "creation"))).toBe("SIGNER_UNAVAILABLE COSIGNER_FAILED");
    expect(keygens(both)).toBe(1);
    both.parties[1].isFailing = false;
    await both.pass(12_000);
    expect(await outcomeOf(both, begun(both, "creation"))).toBe("done");
  });

  it("is no connection that is lost, or a co-signer that is busy: these are tried again, twice", async () => {
    for (const how of ["lost", "busy"] as const) {
      const both = await upFor("creation");
      both.link.fate = (message, name) => {
        if (name !== "kg1" || keygens(both) > 2) return "pass";
        if (how === "lost") return "cut";
        const { walletId, epoch, ctr } = message.header;
        void both.link.inject(0, abortMessage(1, { walletId, epoch, ctr }, { class: "transport" }));
        return "drop";
      };
      both.clock.setTimer(() => both.link.connect(), 1_000);
      both.clock.setTimer(() => both.link.connect(), 2_000);
      expect(await outcomeOf(both, begun(both, "creation"))).toBe("done");
      expect(keygens(both)).toBe(3);
    }
  });
});

it("a creation is refused within seconds while the store of the service fails, and succeeds once it works", async () => {
  const both = await upFor("creation");
  both.parties[0].isFailing = true;
  const startMs = both.clock.trueMs();
  expect(await outcomeOf(both, begun(both, "creation"))).toBe("SIGNER_UNAVAILABLE STORE_FAILED");
  expect(both.clock.trueMs() - startMs).toBeLessThanOrEqual(5_000);
  both.parties[0].isFailing = false;
  await both.pass(12_000);
  expect(await outcomeOf(both, begun(both, "creation"))).toBe("done");
  expect(both.rows.map(({ wallets }) => wallets.size)).toEqual([1, 1]);
});

describe("a thread that dies while its store takes nothing", () => {
  for (const act of ["creation", "refresh"] as const)
    for (const party of [0, 1] as const)
      it(`in a ${act}, at party ${party}, leaves no epoch without a share, and the store opens again`, async () => {
        const both = await upFor(act);
        const memory = both.parties[party];
        // The commits of an act are its epoch, what its test signature counts, and what it decides.
        for (let at = 0; at < 3; at++) {
          let point = 0;
          memory.onDurable = (before, isBackup) => {
            if (!before || isBackup || point++ !== at) return;
            memory.isFailing = true;
            memory.isThreadGone = true;
          };
          const told = await outcomeOf(both, begun(both, act));
          expect(told, `commit ${at}`).toContain("SIGNER_UNAVAILABLE");
          expect(memory.isFailing).toBe(true);
          memory.onDurable = () => {};
          memory.isFailing = false;
          memory.isThreadGone = false;
          await both.pass(12_000);
          await both.meet();
          expect([both.service.status().problem, both.cosigner.host.isReady], `commit ${at}`).toEqual([null, true]);
          const wallets = both.service.list(null, null, 10).wallets;
          expect(
            both.rows.map((rows) => rows.wallets.size),
            `commit ${at}`,
          ).toEqual([wallets.length, wallets.length]);
          for (const { walletId } of wallets)
            expect(await both.sign(walletId), `commit ${at}`).toMatchObject({ digest: expect.any(String) });
          if (act === "creation" && wallets.length > 0) break;
        }
        if (act === "creation")
          expect(await outcomeOf(both, both.service.create("ada", null))).toMatch(/^done$|^WALLET_EXISTS$/);
      });
});

describe("a store that gives no answer", () => {
  /** From the first commit of the act on; the returned function lets all of them take effect. */
  function hung(both: CustodyBench, party: Party): () => void {
    let release = (): void => {};
    both.parties[party].hang = new Promise((resolve) => {
      release = () => {
        both.parties[party].hang = null;
        resolve();
      };
    });
    return release;
  }

  for (const act of ACTS)
    for (const party of [0, 1] as const)
      it(`in a ${act}, at party ${party}, is 503 in time, and what it writes late is no harm`, async () => {
        const both = await upFor(act);
        let release = (): void => {};
        // In an epoch's act from its prepared row on, of which the late commit makes a share.
        both.link.fate = (_message, name) => {
          if ((party === 0 ? /^(kg|rf)8$/ : /^(kg|rf)9$/).test(name) && both.parties[party].hang === null)
            release = hung(both, party);
          return "pass";
        };
        if (act === "signature") release = hung(both, party);
        const startMs = both.clock.trueMs();
        const call = outcomeOf(both, begun(both, act));
        const told = await call;
        // Of a signature C's own five seconds are longer than S waits for a flight.
        const reason = party === 0 ? " STORE_FAILED" : act === "signature" ? "" : " COSIGNER_FAILED";
        expect(told).toBe(`SIGNER_UNAVAILABLE${reason}`);
        // The store has five seconds; key generation and refresh have flights of ten, and C's caller is S.
        expect(both.clock.trueMs() - startMs).toBeLessThanOrEqual(13_000);
        both.link.fate = () => "pass";
        const wallet = both.service.list(null, null, 1).wallets[0]?.walletId;
        if (party === 0) {
          expect(both.service.status().problem).toBe("STORE");
          const againMs = both.clock.trueMs();
          const again = wallet === undefined ? both.service.create("bea", null) : both.signing(wallet);
          expect(await outcomeOf(both, again)).toBe("SIGNER_UNAVAILABLE STORE_FAILED");
          expect(both.clock.trueMs()).toBe(againMs);
        }
        release();
        await both.pass(12_000);
        await both.meet();
        expect([both.service.status().problem, both.cosigner.host.isReady]).toEqual([null, true]);
        const wallets = both.service.list(null, null, 10).wallets;
        expect(both.rows.map((rows) => rows.wallets.size)).toEqual([wallets.length, wallets.length]);
        for (const { walletId } of wallets)
          expect(await both.sign(walletId)).toMatchObject({ digest: expect.any(String) });
        if (wallets.length === 0) expect(await both.create("ada")).toMatchObject({ userId: "ada" });
      });

  it("to the commit that makes a wallet shows no wallet before it is durable", async () => {
    const both = await upFor("creation");
    let release = (): void => {};
    both.link.fate = (_message, name) => {
      if (name === "f6") release = hung(both, 0);
      return "pass";
    };
    expect(await outcomeOf(both, begun(both, "creation"))).toBe("SIGNER_UNAVAILABLE STORE_FAILED");
    // Where the service dies now the wallet never was: both parties drop what they prepared.
    expect([both.service.find("ada", null), both.service.list(null, null, 10).wallets]).toEqual([null, []]);
    expect(await both.create("ada")).toBe("SIGNER_UNAVAILABLE");
    release();
    await both.pass(12_000);
    await both.meet();
    expect(both.service.find("ada", null)).toMatchObject({ state: "ACTIVE" });
    expect(await both.create("ada")).toBe("WALLET_EXISTS");
  });

  it.each([0, 1] as const)("at party %s when a share is read is 503 in time", async (party) => {
    const both = await upFor("signature");
    both.parties[party].isReadHanging = true;
    const startMs = both.clock.trueMs();
    const told = await outcomeOf(both, both.signing(id));
    expect(told).toBe(party === 0 ? "SIGNER_UNAVAILABLE STORE_FAILED" : "SIGNER_UNAVAILABLE");
    expect(both.clock.trueMs() - startMs).toBeLessThanOrEqual(12_500);
    both.parties[party].isReadHanging = false;
    await both.pass(6_000);
    expect(await both.sign(id)).toMatchObject({ digest: expect.any(String) });
  });

  it.each([0, 1] as const)("at party %s does not keep a stop in order from its end", async (party) => {
    const both = await upFor("signature");
    hung(both, party);
    const call = both.signing(id);
    call.catch(() => {});
    await both.quiet();
    let isStopped = false;
    const stopping = party === 0 ? both.service.stop() : both.cosigner.stop();
    void stopping.then(() => {
      isStopped = true;
    });
    for (let at = 0; at < 20 && !isStopped; at++) {
      await both.pass(1_000);
      await both.quiet();
    }
    expect(isStopped).toBe(true);
  });
});
