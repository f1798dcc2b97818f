/**
 * The count of an instance as a model: lives that end before or after each of their acts (commits, writes of the file,
 * messages to the co-signer, sends), copies of the store of every moment, and each of them put back later. The judge knows
 * what was sent when.
 */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createMemoryStore } from "../test/memory-store.js";
import { type Death, MortalLife } from "../test/mortal-life.js";
import { Instance } from "./instance.js";
import type { InstanceCount } from "./instance-mark.js";

const TRANSFERS = 3;
const ID = "ab".repeat(16);

/** A copy of the store, and how many sends it knows of. */
interface Copy {
  readonly mark: Uint8Array | null;
  readonly file: InstanceCount | null;
  readonly signedCount: number;
}

/** What outlives a process. */
class Disk {
  mark: Uint8Array | null = null;
  file: InstanceCount | null = null;
  cosigner: InstanceCount | null = null;
  signedCount = 0;
  sentCount = 0;
  readonly copies: Copy[] = [];

  copy(): Copy {
    return { mark: this.mark, file: this.file, signedCount: this.signedCount };
  }
}

interface Living {
  readonly life: MortalLife;
  readonly instance: Instance | null;
}

/** `hasCosigner` false: an outside signer, or none. `transfers`: what the life sends before it ends by itself. */
async function lived(disk: Disk, death: Death | null, hasCosigner: boolean, transfers: number): Promise<Living> {
  const life = new MortalLife(death);
  const clock = new VirtualClock();
  const memory = createMemoryStore();
  if (disk.mark !== null) await memory.put("instance", "count", disk.mark);
  const saved = async () => {
    disk.mark = await memory.get("instance", "count");
    disk.copies.push(disk.copy());
  };
  const store = life.store({
    ...memory,
    commit: async (batch) => {
      const isDone = await memory.commit(batch);
      if (batch.writes.some(({ namespace }) => namespace === "signed")) disk.signedCount++;
      await saved();
      return isDone;
    },
  });
  let instance: Instance | null = null;
  let isOver = false;
  const run = async (): Promise<void> => {
    const opened = await Instance.open({
      ...{ store, clock, newId: () => ID, logger: silentLogger },
      file: {
        read: async () => (disk.file === null ? { kind: "missing" } : { kind: "count", value: disk.file }),
        write: (count) =>
          life.gate(async () => {
            disk.file = count;
          }),
      },
    });
    instance = opened;
    const tell = (): void => {
      const count = opened.toTell;
      void life.gate(async () => {
        if (disk.cosigner === null || count.count > disk.cosigner.count) disk.cosigner = count;
        const answer = disk.cosigner;
        opened.heard(answer);
      });
    };
    if (hasCosigner) {
      opened.bindWitness(tell);
      opened.met();
      tell();
    }
    for (let each = 0; each < transfers && opened.restored === null; each++) {
      // A row that is made, and the same row signed: only a store that has the second knows that it may have been sent.
      for (const namespace of ["created", "signed"]) {
        const { write, done } = opened.counted();
        await store.commit({ writes: [write, { namespace, key: String(each), value: new Uint8Array(1) }] });
        done();
        await opened.outside();
        await opened.witnessed();
      }
      await life.gate(async () => {
        disk.sentCount++;
      });
    }
  };
  void run().finally(() => {
    isOver = true;
  });
  while (!isOver && !life.isDead()) await new Promise((resolve) => setImmediate(resolve));
  return { life, instance };
}

async function acts(hasCosigner: boolean): Promise<number> {
  return (await lived(new Disk(), null, hasCosigner, TRANSFERS)).life.acts();
}

/** Starts on a copy that was put back: what the start says, once the co-signer has answered. */
async function startedOn(disk: Disk, copy: Copy, hasCosigner: boolean): Promise<boolean> {
  const put = Object.assign(new Disk(), { mark: copy.mark, file: disk.file, cosigner: disk.cosigner });
  const { instance } = await lived(put, null, hasCosigner, 0);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return instance?.restored !== null;
}

describe.each([true, false])("the count of a store, with a co-signer: %s", (hasCosigner) => {
  it("raises no alarm after a kill at any act, and sees every older store that lacks something sent", async () => {
    const count = await acts(hasCosigner);
    expect(count).toBeGreaterThan(TRANSFERS * 3);
    let [seen, innocent] = [0, 0];
    for (let at = 1; at <= count; at++)
      for (const isAfter of [false, true]) {
        const disk = new Disk();
        await lived(disk, { at, isAfter }, hasCosigner, TRANSFERS);
        const name = `killed ${isAfter ? "after" : "before"} act ${at}`;
        const next = await lived(disk, null, hasCosigner, 1);
        expect(next.instance?.restored, name).toBe(null);
        const copies = disk.copies.filter(({ mark }) => mark !== null);
        for (const [index, copy] of copies.entries()) {
          const isLacking = copy.signedCount < disk.sentCount;
          const isSeen = await startedOn(disk, copy, hasCosigner);
          if (isLacking) expect(isSeen, `${name}, copy ${index}`).toBe(true);
          if (isSeen) seen++;
          else innocent++;
          // The file with it, by a snapshot of the whole machine: the co-signer alone is left to see that.
          if (isLacking && hasCosigner)
            expect(await startedOn({ ...disk, file: copy.file } as Disk, copy, true), `${name}, file ${index}`).toBe(
              true,
            );
        }
      }
    expect(seen).toBeGreaterThan(count);
    // The newest copy of each is the store itself.
    expect(innocent).toBeGreaterThanOrEqual(count * 2);
  });

  it("is still seen where the file was put back with the store, if a co-signer keeps it", async () => {
    const disk = new Disk();
    await lived(disk, null, hasCosigner, 1);
    const [copy, file] = [disk.copy(), disk.file];
    await lived(disk, null, hasCosigner, 1);
    disk.file = file;
    expect(await startedOn(disk, copy, hasCosigner)).toBe(hasCosigner);
  });

  it("is still seen so after starts that did not meet the co-signer", async () => {
    if (!hasCosigner) return;
    const disk = new Disk();
    await lived(disk, null, true, 1);
    const [copy, file] = [disk.copy(), disk.file];
    await lived(disk, null, true, 1);
    Object.assign(disk, { file, mark: copy.mark });
    for (let start = 0; start < 10; start++) await lived(disk, null, false, 0);
    expect((await lived(disk, null, true, 0)).instance?.restored).toMatchObject({ reason: "COSIGNER_AHEAD" });
  });

  it("stays restored over starts, and does not catch up with what it is behind of", async () => {
    const disk = new Disk();
    await lived(disk, null, hasCosigner, 1);
    const copy = disk.copy();
    await lived(disk, null, hasCosigner, 1);
    disk.mark = copy.mark;
    for (let start = 0; start < 10; start++)
      expect((await lived(disk, null, hasCosigner, 1)).instance?.restored).toMatchObject({ reason: "FILE_AHEAD" });
    expect(disk.sentCount).toBe(2);
  });

  it("is released above everything that has counted, also where the release is killed", async () => {
    for (const at of [1, 2, 3])
      for (const isAfter of [false, true]) {
        const disk = new Disk();
        await lived(disk, null, hasCosigner, 2);
        const copy = disk.copies.at(0);
        disk.mark = copy?.mark ?? null;
        const { instance } = await lived(disk, null, hasCosigner, 0);
        if (instance === null) throw new Error("no start");
        expect(instance.restored).not.toBe(null);
        await instance.release([]);
        const { instance: after } = await lived(disk, { at, isAfter }, hasCosigner, 1);
        void after;
        expect((await lived(disk, null, hasCosigner, 1)).instance?.restored).toBe(null);
        expect(await startedOn(disk, copy as Copy, hasCosigner)).toBe(true);
      }
  });
});
