/** After a call of sealing no buffer with a key or an unwanted plaintext is left: every one that was made is looked at. */
import type * as Crypto from "node:crypto";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { Kek, type KekSource, readKekSource } from "./kek.js";
import { loadKeyring } from "./load-keyring.js";
import { openRecord, rewrapRecord, sealRecord } from "./record.js";
import type * as SecretBytes from "./secret-bytes.js";
import { startRotation } from "./rotation.js";
import { codeOf, FAST_SCRYPT, refusalOf, seededRandom } from "./test/sealing-doubles.js";

/** What deciphers and scrypt handed out, and what was reserved for secrets, in order. */
const made = vi.hoisted(() => ({ opened: [] as Buffer[], derived: [] as Buffer[], reserved: [] as Buffer[] }));

vi.mock("./secret-bytes.js", async (importOriginal) => {
  const bytes = await importOriginal<typeof SecretBytes>();
  return {
    ...bytes,
    secretBuffer: (byteLength: number) => {
      const reserved = bytes.secretBuffer(byteLength);
      made.reserved.push(reserved);
      return reserved;
    },
  };
});

vi.mock("node:crypto", async (importOriginal) => {
  const crypto = await importOriginal<typeof Crypto>();
  return {
    ...crypto,
    createDecipheriv: (...given: Parameters<typeof crypto.createDecipheriv>) => {
      const decipher = crypto.createDecipheriv(...given);
      const update = decipher.update.bind(decipher) as (data: Buffer) => Buffer;
      return Object.assign(decipher, {
        update: (data: Buffer) => {
          const opened = update(data);
          made.opened.push(opened);
          return opened;
        },
      });
    },
    scrypt: (...given: [Buffer, Buffer, number, object, (error: Error | null, key: Buffer) => void]) => {
      const [passphrase, salt, length, options, done] = given;
      crypto.scrypt(passphrase, salt, length, options, (error, key) => {
        made.derived.push(key);
        done(error, key);
      });
    },
  };
});

const KEY_BYTES = 32;
const context = { purpose: "api-key", parts: ["pk_1"], recordVersion: 1 };
const kek = new Kek(Buffer.alloc(KEY_BYTES, "first key of these tests"));
const otherKek = new Kek(Buffer.alloc(KEY_BYTES, "other key of these tests"));
const draw = seededRandom(3);

/** The buffers that were filled with a key, not those of IVs. */
let drawnKeys: Buffer[] = [];
const random = (target: Uint8Array): void => {
  draw(target);
  if (target.byteLength === KEY_BYTES) drawnKeys.push(target as Buffer);
};

beforeEach(() => {
  drawnKeys = [];
  made.opened.length = 0;
  made.derived.length = 0;
  made.reserved.length = 0;
});

const isZero = (buffer: Buffer): boolean => buffer.every((byte) => byte === 0);

describe("after the call, buffers of sealing", () => {
  it("hold no DEK that sealed, also where sealing failed", () => {
    sealRecord(kek, context, Buffer.from("secret"), random);
    const failing = (target: Uint8Array): void => {
      if (target.byteLength !== KEY_BYTES) throw new RangeError("no more entropy");
      random(target);
    };
    expect(() => sealRecord(kek, context, Buffer.from("secret"), failing)).toThrow("no more entropy");
    expect(drawnKeys.map(isZero)).toEqual([true, true]);
  });

  it("hold the opened secret alone, and nothing once its caller wiped it", () => {
    const record = sealRecord(kek, context, Buffer.from("secret"), random);
    const opened = openRecord(kek, context, record);
    expect(made.opened.map(({ byteLength }) => byteLength)).toEqual([KEY_BYTES, 6]);
    expect(made.opened.map(isZero)).toEqual([true, true]);
    expect(opened.toString()).toBe("secret");
  });

  it("hold no content of a record that failed, neither of its key nor of its secret", () => {
    const record = sealRecord(kek, context, Buffer.from("secret"), random);
    for (const at of [30, record.byteLength - 1]) {
      const changed = Buffer.from(record);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(codeOf(() => openRecord(kek, context, changed))).toBe("SEAL_BROKEN");
    }
    expect(made.opened.map(({ byteLength }) => byteLength)).toEqual([KEY_BYTES, KEY_BYTES, 6]);
    expect([...made.opened, ...made.reserved].every(isZero)).toBe(true);
  });

  it("hold no DEK that was rewrapped", () => {
    rewrapRecord(kek, otherKek, context, sealRecord(kek, context, Buffer.from("secret"), random), random);
    expect(made.opened.map(isZero)).toEqual([true]);
  });

  it("hold no content of a key file", () => {
    const files: Buffer[] = [];
    const readFile = (): Buffer => {
      const file = Buffer.from(`${"c5".repeat(31)}01`);
      files.push(file);
      return file;
    };
    readKekSource({ kind: "file", path: "key" }, readFile);
    readKekSource({ kind: "passphrase-file", path: "words" }, readFile);
    expect(files.map(isZero)).toEqual([true, true]);
  });
});

describe("after the call, keys of a keyring", () => {
  const words = (text: string): KekSource => ({ kind: "passphrase", passphrase: Buffer.from(text) });
  const setup = (source: KekSource, store = createMemoryStore()) => ({
    ...{ store, source, places: [], clock: new VirtualClock(), random: draw, scrypt: FAST_SCRYPT },
  });

  it("are gone where they were refused", async () => {
    const { store } = setup(words("correct horse battery"));
    const ring = await loadKeyring(setup(words("correct horse battery"), store));
    expect(await refusalOf(loadKeyring(setup(words("another horse battery"), store)))).toMatch("KEY_WRONG");
    expect(
      await refusalOf(startRotation({ ...setup(words(""), store), ring }, words("correct horse battery"))),
    ).toMatch("SAME_KEY");
    expect(made.derived.map(isZero)).toEqual([false, true, true]);
  });

  it("are gone when the ring is closed, and seal nothing after that", async () => {
    const ring = await loadKeyring(setup(words("correct horse battery")));
    await startRotation(
      { ...setup(words("")), store: createMemoryStore(), ring },
      words("another horse battery"),
    ).catch(() => {});
    const record = ring.seal(context, Buffer.from("secret"));
    ring.close();
    expect(made.derived.every(isZero)).toBe(true);
    expect(codeOf(() => ring.seal(context, Buffer.from("secret")))).toBe("INTERNAL");
    expect(codeOf(() => ring.open(context, record))).toBe("INTERNAL");
  });

  it("are gone for the former one when the ring drops it", async () => {
    const { store } = setup(words("correct horse battery"));
    const ring = await loadKeyring(setup(words("correct horse battery"), store));
    await startRotation({ ...setup(words(""), store), ring }, words("another horse battery"));
    ring.dropFormer();
    const [former, tried, present] = made.derived;
    expect([former, tried, present].map((key) => key !== undefined && isZero(key))).toEqual([true, true, false]);
  });
});
