/** Messages, and raw digests in all their disguises. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "./policy.js";
import { ACTS, intentOf, judged, message, policyOf, RULES } from "./test/policies.js";

const HASH = "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658";
const LOGIN = "You are signing into Astherus 111111";
const REGISTER =
  `Register Lighter Account\n\npubkey: 0x${"ab".repeat(40)}\nnonce: 0x0000000000000000\n` +
  "account index: 0x0000000000000003\napi key index: 0x0000000000000005\nOnly sign this message for a trusted client!";

function raw(origin: "caller" | "service") {
  return intentOf({ kind: "digest", origin, digest: new Uint8Array(32).fill(1) });
}

describe("without a policy file", () => {
  it("callers have texts and bytes signed as messages, and the service nothing", () => {
    expect(judged(message("Hello", "caller"), DEFAULT_POLICY)).toBe("ok");
    expect(judged(message(Uint8Array.of(0, 1, 2), "caller"), DEFAULT_POLICY)).toBe("ok");
    expect(judged(message("", "caller"), DEFAULT_POLICY)).toBe("ok");
    expect(judged(message("Hello", "service"), DEFAULT_POLICY)).toBe("MESSAGE_KIND");
  });

  it("raw digests are refused to both, and allowed by the switch of an origin alone", () => {
    expect([judged(raw("caller"), DEFAULT_POLICY), judged(raw("service"), DEFAULT_POLICY)]).toEqual([
      "RAW_DIGEST",
      "RAW_DIGEST",
    ]);
    const policy = policyOf({ digests: true });
    expect([judged(raw("caller"), policy), judged(raw("service"), policy)]).toEqual(["RAW_DIGEST", "ok"]);
  });

  it.each([
    ["32 bytes", new Uint8Array(Buffer.from(HASH, "hex"))],
    ["32 bytes that are letters", "abcdefghijklmnopqrstuvwxyzabcdef"],
    ["the hex of 32 bytes", HASH],
    ["the hex of 32 bytes with 0x", `0x${HASH}`],
    ["the hex of 32 bytes in capitals", `0X${HASH.toUpperCase()}`],
    ["the hex of 32 bytes between blanks", ` 0x${HASH}\n`],
  ])("a message of %s is a digest in disguise", (_, text) => {
    expect(judged(message(text, "caller"), DEFAULT_POLICY)).toBe("MESSAGE_KIND");
    expect(judged(message(text), policyOf({ messages: ["text", "binary", "digest"] }))).toBe("ok");
  });

  it("a message of 31 or 33 bytes is none", () => {
    for (const length of [31, 33]) expect(judged(message(new Uint8Array(length), "caller"), DEFAULT_POLICY)).toBe("ok");
  });
});

describe("a message's kind", () => {
  it.each([
    ["line breaks and tabs", "a\r\n\tb", "ok"],
    ["other scripts", "日本語 \u{1f600}", "ok"],
    ["a zero byte", "a\u0000b", "MESSAGE_KIND"],
    ["an escape", "a\u001bb", "MESSAGE_KIND"],
    ["bytes that are no UTF-8", Uint8Array.of(0xc0, 0xaf), "MESSAGE_KIND"],
  ])("with %s is judged where only texts are allowed", (_, text, result) => {
    expect(judged(message(text))).toBe(result);
  });
});

describe("a venue's text", () => {
  it("is allowed by its act for one origin, however many texts the other may have signed", () => {
    const policy = policyOf({ venues: [{ act: "venuetwo.login" }] }, { messages: ["text", "binary", "digest"] });
    expect(judged(message(LOGIN, "service"), policy)).toBe("ok");
    expect(judged(message(LOGIN, "caller"), policy)).toBe("VENUE_TEXT");
    expect(judged(message(REGISTER, "service"), policy)).toBe("VENUE_TEXT");
    expect(judged(message(REGISTER), policyOf({ venues: [{ act: "venuethree.registerKey" }] }))).toBe("ok");
  });

  const spelled: readonly (readonly [string, string | Uint8Array])[] = [
    ["a blank before", ` ${LOGIN}`],
    ["a line break behind", `${LOGIN}\n`],
    ["a carriage return behind", `${LOGIN}\r`],
    ["a byte-order mark", `\ufeff${LOGIN}`],
    ["small letters", LOGIN.toLowerCase()],
    ["capitals", LOGIN.toUpperCase()],
    ["two blanks", LOGIN.replace(" ", "  ")],
    ["hard blanks", LOGIN.replaceAll(" ", "\u00a0")],
    ["zero-width signs", [...LOGIN].join("\u200b")],
    ["soft hyphens", [...LOGIN].join("\u00ad")],
    [
      "full-width letters",
      [...LOGIN].map((sign) => (sign > " " ? String.fromCharCode(sign.charCodeAt(0) + 0xfee0) : sign)).join(""),
    ],
    ["combining marks", LOGIN.replace("A", "A\u0301")],
    ["no number", "You are signing into Astherus "],
    ["another number", "You are signing into Astherus 0x12"],
    ["digits of another script", "You are signing into Astherus \u0661\u0662"],
    ["the older name", "You are signing into Aster DEX 12"],
    ["words around it", `Welcome! ${LOGIN} Thank you.`],
    ["zero bytes between", new Uint8Array(Buffer.from(LOGIN, "utf16le"))],
    ["bytes that are no UTF-8 behind", Uint8Array.from([...Buffer.from(LOGIN), 0xff])],
    ["another venue's, in part", "Only sign this message for a trusted client!"],
    ["another venue's, with CRLF", REGISTER.replaceAll("\n", "\r\n")],
    ["another venue's, in another case", REGISTER.replace("0xab", "0xAB")],
    ["another venue's, with a line more", `${REGISTER}\n`],
  ];

  it.each(spelled)("with %s is a likeness, which no rule allows", (_, text) => {
    const all = {
      messages: ["text", "binary", "digest"],
      venues: [{ act: "venuetwo.login" }, { act: "venuethree.registerKey" }],
    };
    for (const origin of ["caller", "service"] as const)
      expect(judged(message(text, origin), policyOf(all, all))).toBe("VENUE_LIKENESS");
  });

  it("is found whatever is put between its letters, and around it", () => {
    const junk = fc.string({
      unit: fc.constantFrom(" ", "\n", "-", "\u200b", "\u0000", ".", "\u00a0", "日"),
      maxLength: 3,
    });
    const around = fc.string({ unit: "binary", maxLength: 20 });
    const letters = fc.array(fc.tuple(junk, fc.boolean()), { minLength: LOGIN.length, maxLength: LOGIN.length });
    fc.assert(
      fc.property(letters, around, around, (noise, before, behind) => {
        const text = [...LOGIN].map((sign, index) => {
          const [extra, isUpper] = noise[index] ?? ["", false];
          return `${isUpper ? sign.toUpperCase() : sign}${extra}`;
        });
        expect(ACTS.readText(Buffer.from(`${before}${text.join("")}${behind}`)).kind).not.toBe("none");
      }),
      { numRuns: 1000 },
    );
  });

  it("is not seen in what other sites have signed", () => {
    for (const text of ["You are signing in to example.org", "masterchef wants you to sign in", "I am lighter today"])
      expect(judged(message(text, "caller"), DEFAULT_POLICY)).toBe("ok");
  });

  it("is refused to callers who have all kinds of messages, as in the full example", () => {
    expect(judged(message(LOGIN, "caller"), policyOf(RULES, { messages: ["text"] }))).toBe("VENUE_TEXT");
  });
});
