import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { credentialTag, HeldSecret, keyLabel, showNothingOf, wipeBytes } from "./key-session.js";

const SECRET = "of-no-value-to-anybody";

function held(): { readonly bytes: Uint8Array; readonly secret: HeldSecret<Uint8Array> } {
  const bytes = new Uint8Array(Buffer.from(SECRET));
  return { bytes, secret: new HeldSecret<Uint8Array>(bytes, wipeBytes) };
}

describe("a held secret", () => {
  it("is handed to a callback while it is open, and to none afterwards", () => {
    const { secret } = held();
    expect([secret.isPresent, secret.isOpen, secret.use((bytes) => bytes.length)]).toEqual([true, true, SECRET.length]);
    secret.close();
    expect([secret.isPresent, secret.isOpen, secret.use(() => "used")]).toEqual([true, false, null]);
  });

  it("is wiped by the first close, once", () => {
    let wipes = 0;
    const counted = new HeldSecret({}, () => wipes++);
    const { bytes, secret } = held();
    for (const one of [counted, counted, secret, secret]) one.close();
    expect([wipes, bytes.every((byte) => byte === 0)]).toEqual([1, true]);
  });

  it("that there is none of opens, is used for nothing, and closes", () => {
    const none = new HeldSecret<Uint8Array>(null, wipeBytes);
    expect([none.isPresent, none.isOpen, none.use(() => "used")]).toEqual([false, true, null]);
    none.close();
    expect(none.isOpen).toBe(false);
  });

  it("that fails in its callback stays whole and open", () => {
    const { secret } = held();
    const failing = (): unknown =>
      secret.use(() => {
        throw new RangeError("a fault");
      });
    expect(failing).toThrow("a fault");
    expect(secret.use((bytes) => Buffer.from(bytes).toString())).toBe(SECRET);
  });
});

describe("an instance of which nothing is shown", () => {
  class Session {
    static {
      showNothingOf(Session);
    }

    readonly secret = SECRET;
  }

  it("prints and serialises to its name alone, wherever it is nested", () => {
    const session = new Session();
    expect(session.secret).toBe(SECRET);
    expect(JSON.stringify({ session })).toBe('{"session":{}}');
    expect(inspect({ a: [session] }, { depth: 9, showHidden: false })).toBe("{ a: [ Session {} ] }");
    expect(inspect(session, { depth: 9, showHidden: true })).toBe("Session {}");
  });
});

describe("names of credentials", () => {
  it("are tags equal for equal names and secrets only, and say nothing of either", () => {
    const secret = Buffer.from(SECRET);
    const tags = [
      credentialTag(["a", "b"], secret),
      credentialTag(["a", "b"]),
      credentialTag(["ab"], secret),
      credentialTag({ a: "b" }, secret),
      credentialTag(["a", "b"], secret.subarray(1)),
    ];
    expect(new Set(tags).size).toBe(tags.length);
    expect(credentialTag(["a", "b"], Buffer.from(SECRET))).toBe(tags[0]);
    expect(tags.join()).not.toContain(SECRET.slice(0, 8));
  });

  it("are labels that stay the same from one process to the next, by use and key", () => {
    expect(keyLabel("venuetwo/api-key", "example")).toBe("key:a8a075137f9abb9bc1fa42480dbf36aee45b8154");
    expect(keyLabel("venuetwo/api-key", "example")).not.toBe(keyLabel("venuefour/config-key", "example"));
  });
});
