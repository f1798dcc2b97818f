import { dirname, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readAdminConfig } from "./admin-config.js";
import { readConfig } from "./config.js";
import type { Environment } from "./config-reading.js";
import type { FileFacts, Machine } from "./machine.js";

const USER = 1000;
const FILES: Readonly<Record<string, Partial<FileFacts>>> = {
  "/k/kek": { mode: 0o600 },
  "/k/kek-400": { mode: 0o400 },
  "/k/kek-group": { mode: 0o640 },
  "/k/it's a kek": { mode: 0o644 },
  "/k/kek-root": { mode: 0o600, userId: 0, isReadable: false },
  "/k/folder": { kind: "folder", mode: 0o700 },
  "/t/cert": { mode: 0o644 },
  "/t/key": { mode: 0o640 },
  "/t/key-open": { mode: 0o644 },
  "./data": { kind: "folder", mode: 0o700 },
  "./open": { kind: "folder", mode: 0o755 },
  "./theirs": { kind: "folder", mode: 0o700, userId: 7 },
  "./file": { mode: 0o600 },
  "/srv/data": { kind: "folder", mode: 0o700 },
  "/srv/data/": { kind: "folder", mode: 0o700 },
  "/d/link": { kind: "folder", mode: 0o700 },
  "/srv/data/kek": {},
  "/srv/data/keys/kek": {},
  "/srv/data-kek": {},
  "/k/kek-link": {},
  "/srv/taken": { kind: "folder", mode: 0o700 },
  "/srv/taken.instance": { kind: "folder", mode: 0o700 },
};
/** Where a path leads, if it is not the file itself. */
const LINKS: Readonly<Record<string, string>> = { "/k/kek-link": "/srv/data/kek", "/d/link": "/srv/data" };
const machine: Machine = {
  userId: USER,
  factsOf(path) {
    const facts = FILES[path];
    if (FILES[dirname(path)] !== undefined && FILES[dirname(path)]?.kind !== "folder") return "ENOTDIR";
    return facts === undefined ? "ENOENT" : { kind: "file", mode: 0o600, userId: USER, isReadable: true, ...facts };
  },
  realPathOf: (path) => LINKS[path] ?? resolve("/srv", path),
};

function read(environment: Environment) {
  return readConfig(environment, () => null, machine);
}
function problems(environment: Environment): readonly string[] {
  const result = read(environment);
  return result.ok ? [] : result.problems;
}
function config(environment: Environment) {
  const result = read(environment);
  if (!result.ok) throw new Error(result.problems.join("\n"));
  return result.config;
}

const SERVE = { UNWIND_PROFILE: "serve", KEK_FILE: "/k/kek" };
const TLS = { TLS_CERT_FILE: "/t/cert", TLS_KEY_FILE: "/t/key" };

describe("npm run serve", () => {
  it("starts on loopback with nothing but a key to seal with, and signs by default", () => {
    expect(config(SERVE)).toMatchObject({
      profile: "serve",
      authMode: "signed",
      kek: { kind: "file", path: "/k/kek" },
      formerKek: null,
      tls: null,
      trustsLoopback: false,
    });
    expect(config({ ...SERVE, HOST: "0.0.0.0", ...TLS, TRUSTED_PROXIES: "10.0.0.7,fd00::/8" })).toMatchObject({
      tls: { certFile: "/t/cert", keyFile: "/t/key" },
      trustedProxies: ["10.0.0.7", "fd00::/8"],
    });
  });

  it("says every problem at once, each in a line of its own that names what to change", () => {
    const found = problems({
      UNWIND_PROFILE: "serve",
      AUTH_MODE: "public",
      HOST: "0.0.0.0",
      DATA_DIR: "./open",
      ALLOWED_ORIGINS: "*",
      TRUSTED_PROXIES: "",
      VENUEONE_REST_URL: "http://venue.example",
    });
    expect(found).toEqual([
      expect.stringMatching(/^HOST=0\.0\.0\.0 without TLS .*set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES/),
      "AUTH_MODE=public lets anyone trade who reaches the port: set AUTH_MODE=signed, or leave it out",
      "DATA_DIR ./open has mode 0755, so others can look into it: chmod 700 ./open",
      expect.stringMatching(/set KEK_FILE.*openssl rand -hex 32/),
      "ALLOWED_ORIGINS: * lets any page read: name the origins, such as https://trade.example",
      "VENUEONE_REST_URL must be https (wss for *_WS_URL) unless it is on this machine: it carries credentials",
    ]);
    expect(found.some((line) => line.includes("\n"))).toBe(false);
  });

  it.each<[string, Environment, RegExp | null]>([
    ["plain HTTP for a proxy that is named", { HOST: "10.1.2.3", TRUSTED_PROXIES: "10.1.2.4" }, null],
    ["plain HTTP where that is asked for by its word", { HOST: "10.1.2.3", TLS: "off-behind-proxy" }, null],
    ["plain HTTP to a network", { HOST: "10.1.2.3" }, /without TLS sends orders in the clear/],
    [
      "secrets in plain HTTP, word or not",
      { HOST: "::", AUTH_MODE: "secret", TLS: "off-behind-proxy" },
      /shows the secrets/,
    ],
    ["secrets over TLS", { HOST: "::", AUTH_MODE: "secret", ...TLS }, null],
    ["secrets on loopback", { AUTH_MODE: "secret" }, null],
    ["secrets behind a proxy that is named", { HOST: "::", AUTH_MODE: "secret", TRUSTED_PROXIES: "10.0.0.1" }, null],
    ["half of TLS", { TLS_CERT_FILE: "/t/cert" }, /must be set together/],
    [
      "a certificate that is not there",
      { ...TLS, TLS_CERT_FILE: "/t/none" },
      /TLS_CERT_FILE \/t\/none cannot be read \(ENOENT\)/,
    ],
    ["a TLS key that others can read", { ...TLS, TLS_KEY_FILE: "/t/key-open" }, /chmod 640 \/t\/key-open$/],
    ["TLS that is on and off", { ...TLS, TLS: "off-behind-proxy" }, /keep one of them/],
    ["a sealing key that is read-only", { KEK_FILE: "/k/kek-400" }, null],
    [
      "a sealing key that a group can read",
      { KEK_FILE: "/k/kek-group" },
      /has mode 0640, .*: chmod 600 \/k\/kek-group$/,
    ],
    ["a path with a quote", { KEK_FILE: "/k/it's a kek" }, /chmod 600 '\/k\/it'\\''s a kek'$/],
    ["a sealing key of another user", { KEK_FILE: "/k/kek-root" }, /cannot be read by this user \(1000\)/],
    ["a folder as sealing key", { KEK_FILE: "/k/folder" }, /is no file/],
    [
      "a sealing key in the data folder",
      { DATA_DIR: "/srv/data", KEK_FILE: "/srv/data/kek" },
      /KEK_FILE .* is in DATA_DIR/,
    ],
    ["one in a folder of it", { DATA_DIR: "/srv/data/", KEK_FILE: "/srv/data/keys/kek" }, /is in DATA_DIR/],
    ["a link to one", { DATA_DIR: "/srv/data", KEK_FILE: "/k/kek-link" }, /is in DATA_DIR/],
    ["one in a folder that is a link", { DATA_DIR: "/d/link", KEK_FILE: "/srv/data/kek" }, /is in DATA_DIR/],
    [
      "a former one there",
      { DATA_DIR: "/srv/data", KEK_FORMER_FILE: "/srv/data/kek" },
      /KEK_FORMER_FILE .* is in DATA_DIR/,
    ],
    [
      "a passphrase there",
      { DATA_DIR: "/srv/data", KEK_FILE: "", KEK_PASSPHRASE_FILE: "/srv/data/kek" },
      /is in DATA_DIR/,
    ],
    [
      "a count in the data folder",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/srv/data/count" },
      /must not be in DATA_DIR/,
    ],
    [
      "a count in the data folder by a link to it",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/d/link/count" },
      /INSTANCE_FILE \/d\/link\/count must not be in DATA_DIR/,
    ],
    [
      "the data folder as count",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/srv/data/" },
      /INSTANCE_FILE \/srv\/data is DATA_DIR itself: name a file beside it, such as \/srv\/data\.instance$/,
    ],
    [
      "a link to the data folder as count",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/d/link" },
      /INSTANCE_FILE \/d\/link is DATA_DIR itself/,
    ],
    [
      "a folder as count",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/k/folder" },
      /INSTANCE_FILE \/k\/folder is a folder: name a file, such as \/k\/folder\/unwind\.instance$/,
    ],
    [
      "a folder where the count is to be by default",
      { DATA_DIR: "/srv/taken" },
      /INSTANCE_FILE \/srv\/taken\.instance is a folder/,
    ],
    [
      "a count below a file",
      { DATA_DIR: "/srv/data", INSTANCE_FILE: "/k/kek/count" },
      /INSTANCE_FILE \/k\/kek\/count cannot be looked at \(ENOTDIR\)$/,
    ],
    ["a count beside it", { DATA_DIR: "/srv/data", INSTANCE_FILE: "/srv/data-count" }, null],
    ["a sealing key beside it", { DATA_DIR: "/srv/data", KEK_FILE: "/srv/data-kek" }, null],
    ["a sealing key that is missing", { KEK_FILE: "/k/none" }, /KEK_FILE \/k\/none cannot be read \(ENOENT\)/],
    ["no sealing key", { KEK_FILE: "" }, /set KEK_FILE to the path of the one/],
    ["two sealing keys", { KEK_HEX: "ab".repeat(32) }, /KEK_FILE and KEK_HEX are set together/],
    ["a former key", { KEK_FORMER_HEX: "ab".repeat(32) }, null],
    ["a former key alone", { KEK_FILE: "", KEK_FORMER_HEX: "ab".repeat(32) }, /without a present key/],
    ["a short hex key", { KEK_FILE: "", KEK_HEX: "ab" }, /KEK_HEX must be 64 hex digits/],
    ["a short passphrase", { KEK_FILE: "", KEK_PASSPHRASE: "short" }, /KEK_PASSPHRASE must be 12 to 1024 bytes long/],
    ["a store of another user", { DATA_DIR: "./theirs" }, /belongs to another user: chown -R 1000 \.\/theirs/],
    ["a store that is a file", { DATA_DIR: "./file" }, /is no folder/],
    ["a store that is not there yet", { DATA_DIR: "./new" }, null],
    ["everyone as a proxy", { TRUSTED_PROXIES: "0.0.0.0/0" }, /is everyone/],
    ["a proxy by name", { TRUSTED_PROXIES: "proxy.example" }, /is no address or block/],
    ["a block that is too narrow for its family", { TRUSTED_PROXIES: "10.0.0.0/33" }, /is no address or block/],
    ["a venue on this machine", { VENUEONE_REST_URL: "http://127.0.0.1:9", VENUEONE_WS_URL: "ws://[::1]:9" }, null],
    ["a venue in the clear", { VENUETWO_WS_URL: "ws://venue.example" }, /VENUETWO_WS_URL must be https \(wss/],
    ["a record store in the clear", { CLICKHOUSE_URL: "http://10.0.0.9:8123" }, /CLICKHOUSE_URL must be https/],
    ["an admin socket too long for the system", { ADMIN_SOCKET: `/${"a".repeat(120)}` }, /a Unix socket takes 107/],
  ])("decides on %s", (_, environment, problem) => {
    const found = problems({ ...SERVE, ...environment });
    if (problem === null) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringMatching(problem)]);
  });

  it("quotes no secret in a problem", () => {
    const secret = "5ec7e7".repeat(3);
    const found = problems({ ...SERVE, KEK_FILE: "", KEK_HEX: secret, KEK_FORMER_PASSPHRASE: "5ec7e7" }).join();
    expect(found).not.toContain("5ec7e7");
    expect(found).toContain("KEK_HEX");
  });
});

describe("npm start", () => {
  it("is public on loopback, where being on this machine is proof enough", () => {
    expect(config({})).toMatchObject({ authMode: "public", kek: null, trustsLoopback: true });
    expect(config({ TRUSTED_PROXIES: "10.0.0.7" }).trustsLoopback).toBe(false);
    expect(problems({ HOST: "0.0.0.0" })).toEqual([expect.stringContaining("HOST must be a loopback address")]);
    expect(problems({ HOST: "0.0.0.0", ...TLS })).toHaveLength(1);
  });

  it("takes keys where they are asked for, by the rules of serve", () => {
    expect(config({ AUTH_MODE: "signed", KEK_FILE: "/k/kek" })).toMatchObject({ trustsLoopback: false });
    expect(problems({ AUTH_MODE: "signed", HOST: "0.0.0.0" })).toHaveLength(2);
  });

  it("lets any page read where * says so", () => {
    expect(config({ ALLOWED_ORIGINS: "*" }).allowedOrigins).toEqual(["*"]);
  });
});

describe("the former name of ALLOWED_ORIGINS", () => {
  const [a, b] = ["https://a.example", "https://b.example"];

  it("is read and reported", () => {
    expect(config({ CORS_ALLOW_ORIGIN: a })).toMatchObject({
      allowedOrigins: [a],
      renamedNames: [{ name: "CORS_ALLOW_ORIGIN", meant: "ALLOWED_ORIGINS" }],
    });
    expect(config({ ALLOWED_ORIGINS: a }).renamedNames).toEqual([]);
  });

  it("may say the same, not something else", () => {
    expect(config({ CORS_ALLOW_ORIGIN: `${b},${a}`, ALLOWED_ORIGINS: `${a},${b}` }).allowedOrigins).toEqual([a, b]);
    expect(problems({ CORS_ALLOW_ORIGIN: a, ALLOWED_ORIGINS: b })).toEqual([expect.stringContaining("differ")]);
  });

  it("is the name in the problem where it is the one that was used", () => {
    expect(problems({ CORS_ALLOW_ORIGIN: "a.example" }).join()).toContain("CORS_ALLOW_ORIGIN:");
    expect(problems({ ...SERVE, CORS_ALLOW_ORIGIN: "*" }).join()).toContain("CORS_ALLOW_ORIGIN:");
  });
});

describe("the configuration of the CLI", () => {
  it("is not held up by what concerns the service alone", () => {
    expect(
      readAdminConfig({ PORT: "x", AUTH_MODE: "signed", DATA_DIR: "./data", KEK_FILE: "/k/none" }, () => null, machine),
    ).toMatchObject({
      ok: true,
      config: { dataDir: "./data", authMode: "signed", kek: { kind: "file" } },
      keyProblems: [expect.stringContaining("ENOENT")],
    });
  });

  it("is that of a service with keys where nothing else is said", () => {
    expect(readAdminConfig({}, () => null, machine)).toMatchObject({ config: { authMode: "signed", kek: null } });
    const demo = { UNWIND_PROFILE: "start" };
    expect(readAdminConfig(demo, () => null, machine)).toMatchObject({ config: { authMode: "public" } });
  });

  it("is refused where the place of the store is not known", () => {
    expect(readAdminConfig({ DATA_DIR: " " }, () => null, machine)).toMatchObject({ ok: false });
    expect(readAdminConfig({}, () => "{", machine)).toMatchObject({ ok: false });
  });
});
