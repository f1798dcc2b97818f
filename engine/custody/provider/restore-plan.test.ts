/** Which epoch both sides restore, from what both have: the cases of the page, and that both come to the same one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newWalletRow } from "../mpc/state/state-row.js";
import { inventoryOf, type KnownEpoch, planRestore, readInventory, type WalletInventory } from "./restore-plan.js";

const WALLET = "000102030405060708090a0b0c0d0e0f";
const A = "aa".repeat(32);
const B = "bb".repeat(32);
const C = "cc".repeat(32);

function known(epoch: number, tag = A): KnownEpoch {
  return { epoch, tag };
}

/** What the name of a file says of an epoch. */
function named(epoch: number, tag = A): KnownEpoch {
  return { epoch, tag: tag.slice(0, 16) };
}

function side(active: KnownEpoch | null, backups: readonly KnownEpoch[], more: Partial<WalletInventory> = {}) {
  const epochs = [...(active === null ? [] : [active]), ...backups];
  return { walletId: WALLET, active, prepared: null, ctr: "0", epochs, ...more };
}

const all = [named(1), named(2), named(3)];

describe("a plan of a restore", () => {
  const cases: readonly (readonly [string, WalletInventory, WalletInventory, string, string])[] = [
    ["S's disk is lost: the epoch that C holds", side(null, all), side(known(3), all), "restore 3 aa", "keep 3"],
    ["C's disk is lost: the epoch that S holds", side(known(3), all), side(null, all), "keep 3", "restore 3 aa"],
    ["both lost: the highest that both have", side(null, all), side(null, all), "restore 3 aa", "restore 3 aa"],
    [
      "both lost in a refresh: the orphan of one side alone is left out",
      ...([side(null, [...all, named(4, B)]), side(null, all), "restore 3 aa", "restore 3 aa"] as const),
    ],
    [
      "two files of one number: the one whose tags are equal",
      ...([side(null, [named(4, B), named(4, C)]), side(null, [named(4, C)]), "restore 4 cc", "restore 4 cc"] as const),
    ],
    [
      "two pairs of one number: the same at both",
      ...([side(null, [named(4, C), named(4, B)]), side(null, [named(4, B), named(4, C)])] as const),
      ...(["restore 4 bb", "restore 4 bb"] as const),
    ],
    [
      "an orphan pair above what C holds: what C holds",
      ...([
        side(null, [...all, named(4, B)]),
        side(known(3), [...all, named(4, B)]),
        "restore 3 aa",
        "keep 3",
      ] as const),
    ],
    [
      "an older store is put back: the epoch of the other",
      ...([side(known(2), all), side(known(3), all), "restore 3 aa", "keep 3"] as const),
    ],
    [
      "an older store and no backup of the later epoch: nothing is replaced",
      ...([side(known(2), [named(2)]), side(known(3), all), "keep 2", "refused HIGHER_EPOCH"] as const),
    ],
    [
      "nothing in common",
      ...([side(null, [named(1)]), side(known(3), [named(3)])] as const),
      ...(["refused NO_COMMON_EPOCH", "refused NO_COMMON_EPOCH"] as const),
    ],
    [
      "nothing is left at one side",
      ...([side(null, []), side(known(3), all)] as const),
      ...(["refused NO_COMMON_EPOCH", "refused NO_COMMON_EPOCH"] as const),
    ],
    [
      "the store has prepared the epoch: the parties settle it",
      ...([side(known(2), all, { prepared: known(3) }), side(known(3), all), "refused PREPARED", "keep 3"] as const),
    ],
    [
      "another wallet",
      ...([side(null, all, { walletId: "ff".repeat(16) }), side(known(3), all)] as const),
      ...(["refused WALLET", "refused WALLET"] as const),
    ],
  ];
  it.each(cases)("%s", (_, service, cosigner, ofService, ofCosigner) => {
    expect([textOf(service, cosigner), textOf(cosigner, service)]).toEqual([ofService, ofCosigner]);
  });

  it("starts at the greater ctr of both", () => {
    const plan = planRestore(side(null, all, { ctr: "5" }), side(known(3), all, { ctr: "18446744073709551615" }));
    expect(plan).toMatchObject({ kind: "restore", ctr: 18_446_744_073_709_551_615n, tag: A });
  });

  it("leads both sides to one epoch or to none, never over a row of the same or a higher one", () => {
    const epoch = fc.record({ epoch: fc.integer({ min: 1, max: 4 }), tag: fc.constantFrom(A, B, C) });
    const drawn = fc.record({
      active: fc.option(epoch, { nil: null }),
      whole: fc.array(epoch, { maxLength: 6 }),
      named: fc.array(epoch, { maxLength: 6 }),
    });
    const made = ({
      active,
      whole,
      named: names,
    }: {
      active: KnownEpoch | null;
      whole: KnownEpoch[];
      named: KnownEpoch[];
    }) => side(active, [...whole, ...names.map(({ epoch: of, tag }) => named(of, tag))]);
    fc.assert(
      fc.property(drawn, drawn, (first, second) => {
        const [own, peer] = [made(first), made(second)];
        const plans = [planRestore(own, peer), planRestore(peer, own)];
        const epochs = plans.flatMap((plan) => (plan.kind === "refused" ? [] : [plan.epoch]));
        expect(new Set(epochs).size).toBeLessThanOrEqual(1);
        const tags = plans.flatMap((plan) => (plan.kind === "restore" ? [plan.tag.slice(0, 16)] : []));
        expect(new Set(tags).size).toBeLessThanOrEqual(1);
        for (const [at, plan] of plans.entries()) {
          if (plan.kind !== "restore") continue;
          const sides = at === 0 ? [own, peer] : [peer, own];
          expect((sides[0]?.active?.epoch ?? 0) < plan.epoch).toBe(true);
          for (const { epochs: has } of sides)
            expect(has.some((one) => one.epoch === plan.epoch && one.tag.startsWith(plan.tag.slice(0, 16)))).toBe(true);
        }
      }),
      { numRuns: Number(process.env["MPC_RUNS"] ?? 0) * 10 || 1_000 },
    );
  });
});

describe("an inventory", () => {
  const walletId = Buffer.from(WALLET, "hex");
  const tag = Buffer.from(A, "hex");

  it("names what store and folder have, each once, and survives the way as text", () => {
    const epochs = [{ epoch: 1, tag, publicKey: Buffer.alloc(33) }];
    const stored = { walletId, row: { ...newWalletRow(), ctr: 7n }, epochs };
    const backups = [
      { walletId, party: 0 as const, epoch: 1, tag: tag.subarray(0, 8) },
      { walletId, party: 0 as const, epoch: 1, tag: Buffer.from(B, "hex").subarray(0, 8) },
      { walletId: Buffer.alloc(16), party: 0 as const, epoch: 9, tag: tag.subarray(0, 8) },
    ];
    const inventory = inventoryOf(walletId, stored, backups);
    expect(inventory).toEqual({
      ...{ walletId: WALLET, active: null, prepared: known(1), ctr: "7" },
      epochs: [known(1), named(1, B)],
    });
    expect(readInventory(JSON.parse(JSON.stringify(inventory)))).toEqual(inventory);
    expect(inventoryOf(walletId, null, [])).toEqual({
      ...{ walletId: WALLET, active: null, prepared: null, ctr: "0", epochs: [] },
    });
  });

  it.each([
    ["nothing", null],
    ["a list", []],
    ["another wallet id", { ...side(null, []), walletId: "00" }],
    ["a ctr that is no number", { ...side(null, []), ctr: "0x1" }],
    ["a ctr of many digits", { ...side(null, []), ctr: "1".repeat(21) }],
    ["an epoch of zero", { ...side(null, [known(0)]) }],
    ["a tag that was cut", { ...side(null, [{ epoch: 1, tag: "aa" }]) }],
    ["an active epoch without a tag", { ...side(null, []), active: { epoch: 1 } }],
    ["a missing member", { walletId: WALLET, active: null, ctr: "0", epochs: [] }],
    ["too many epochs", side(null, new Array(10_001).fill(known(1)))],
  ])("is not read where it is %s", (_, source) => {
    expect(readInventory(source)).toBeNull();
  });
});

function textOf(own: WalletInventory, peer: WalletInventory): string {
  const plan = planRestore(own, peer);
  if (plan.kind === "refused") return `refused ${plan.reason}`;
  return plan.kind === "keep" ? `keep ${plan.epoch}` : `restore ${plan.epoch} ${plan.tag.slice(0, 2)}`;
}
