import { createHash, createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatPin, isPinned, parsePins, pinOf } from "./pins.js";
import { COSIGNER, SERVICE, STRANGER } from "./test/link-doubles.js";

/** Found in the bytes of the certificate, apart from how Node writes a key down. */
function keyBytesIn(certificate: Buffer): Buffer {
  const { raw } = new X509Certificate(certificate);
  // SEQUENCE of 89 bytes: algorithm (ecPublicKey, prime256v1), then 65 bytes of a point.
  const start = raw.indexOf(Buffer.from("3059301306072a8648ce3d020106082a8648ce3d030107034200", "hex"));
  return raw.subarray(start, start + 91);
}

describe("pins", () => {
  it("are the SHA-256 of the SubjectPublicKeyInfo as it stands in the certificate", () => {
    const spki = keyBytesIn(SERVICE.certificate);
    expect(SERVICE.pin.toString("hex")).toBe(createHash("sha256").update(spki).digest("hex"));
    expect(pinOf(createPublicKey({ key: spki, format: "der", type: "spki" }))).toEqual(SERVICE.pin);
    expect(pinOf(generateKeyPairSync("ed25519").publicKey)).toHaveLength(32);
  });

  it("are read as they are written, one or two of them", () => {
    const pin = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
    const pins = fc.uniqueArray(pin, { minLength: 1, maxLength: 2, selector: (each) => each.toString("hex") });
    fc.assert(
      fc.property(pins, (list) => {
        expect(parsePins(list.map(formatPin).join(","))).toEqual({ ok: true, pins: list });
      }),
    );
    const spaced = `  ${formatPin(SERVICE.pin).toUpperCase().replace("SHA", "sha")} , ${formatPin(COSIGNER.pin)} `;
    expect(parsePins(spaced)).toEqual({ ok: true, pins: [SERVICE.pin, COSIGNER.pin] });
  });

  const good = formatPin(SERVICE.pin);
  it.each([
    ["nothing", ""],
    ["a comma alone", ","],
    ["a comma too many", `${good},`],
    ["a pin without its kind", good.slice(7)],
    ["another kind", good.replace("sha256", "sha512")],
    ["a digit less", good.slice(0, -1)],
    ["a digit more", `${good}0`],
    ["no hex digit", `${good.slice(0, -1)}g`],
    ["a second line", `${good}\n${formatPin(COSIGNER.pin)}`],
    ["the same twice", `${good},${good}`],
    ["the same twice in other letters", `${good},${good.toUpperCase().replace("SHA", "sha")}`],
    ["three", [SERVICE, COSIGNER, STRANGER].map(({ pin }) => formatPin(pin)).join(",")],
  ])("are refused where the text is %s", (_, text) => {
    expect(parsePins(text)).toMatchObject({ ok: false });
  });

  it("are found wherever they stand in the list, and nothing near them is", () => {
    const other = Buffer.from(COSIGNER.pin);
    expect(isPinned([SERVICE.pin, COSIGNER.pin], SERVICE.pin)).toBe(true);
    expect(isPinned([COSIGNER.pin, SERVICE.pin], SERVICE.pin)).toBe(true);
    expect(isPinned([], SERVICE.pin)).toBe(false);
    for (const at of [0, 15, 31]) {
      const near = Buffer.from(other);
      near[at] = (near[at] ?? 0) ^ 1;
      expect(isPinned([SERVICE.pin, COSIGNER.pin], near)).toBe(false);
    }
  });
});
