/** The page's files over HTTP: headers, revalidation, methods, and that no path leads anywhere else. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { readAssetFiles } from "../http/asset-files.js";
import { type BuiltClient, buildClient } from "./dashboard-build.js";
import { type Harness, startHarness } from "./harness.js";

let built: BuiltClient;
let harness: Harness;

beforeAll(async () => {
  built = buildClient();
  harness = await startHarness({ server: { dashboardFolder: built.folder } });
});
afterAll(async () => {
  await harness?.stop();
  built?.remove();
});

interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** The path goes out as it is: a fetch would tidy it first. */
function raw(path: string, method = "GET", headers: Record<string, string> = {}): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(harness.server.url);
    const sent = httpRequest({ hostname, port, path, method, headers, agent: false }, (reply) => {
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (piece: string) => {
        text += piece;
      });
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("the page", () => {
  it("is served with a policy that allows nothing inline and nobody else", async () => {
    const { status, headers, text } = await raw("/");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "cache-control": "no-cache",
    });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(headers["x-request-id"]).toBeTypeOf("string");
    expect(text).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]* src=)/i);
  });

  it("has a row and a colour for every venue", async () => {
    const { text } = await raw("/");
    const { text: theme } = await raw("/assets/dashboard/theme.css");
    const { text: figures } = await raw("/assets/dashboard/figures.css");
    for (const [index, venue] of ROUTABLE_VENUES.entries()) {
      expect(text).toContain(`<tr data-venue="${venue}">`);
      expect(theme.split(`--venue-${index + 1}:`)).toHaveLength(3);
      for (const name of ["key", "line", "fill"]) expect(figures).toContain(`.${name}-${index + 1} {`);
    }
    expect(text).not.toMatch(/\{venue\}|\{place\}|<!-- each/);
  });

  it("names every module it needs, and each of them is there", async () => {
    const { headers } = await raw("/");
    const paths = [...String(headers.link).matchAll(/<([^>]+)>; rel=modulepreload/g)].map(
      (match) => match[1] as string,
    );
    expect(paths).toContain("/assets/dashboard/main.js");
    expect(paths).toContain("/assets/stream/stream-client.js");
    expect(paths.some((path) => /test/.test(path))).toBe(false);
    for (const path of paths) {
      const reply = await raw(path);
      expect(reply.status, path).toBe(200);
      expect(reply.headers["content-type"]).toBe("text/javascript; charset=utf-8");
      expect(reply.text).not.toMatch(/sourceMappingURL|innerHTML|insertAdjacentHTML|document\.write|\beval\(/);
      for (const [, target = ""] of reply.text.matchAll(/from "([^"]+)"/g))
        expect(paths).toContain(new URL(target, `http://x${path}`).pathname);
    }
  });

  it.each([
    ["/assets/dashboard/theme.css", "text/css; charset=utf-8"],
    ["/favicon.svg", "image/svg+xml"],
  ])("serves %s as %s", async (path, type) => {
    const reply = await raw(path);
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toBe(type);
  });
});

describe("revalidation", () => {
  it("answers 304 without a body for the tag it gave, weak or in a list, and 200 for another", async () => {
    const first = await raw("/");
    const etag = String(first.headers.etag);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const again = await raw("/", "GET", { "If-None-Match": tag });
      expect(again.status, tag).toBe(304);
      expect(again.text).toBe("");
      expect(again.headers.etag).toBe(etag);
    }
    expect((await raw("/", "GET", { "If-None-Match": '"other"' })).status).toBe(200);
    expect((await raw("/assets/dashboard/theme.css")).headers.etag).not.toBe(etag);
  });

  it("answers HEAD with the length and no body", async () => {
    const get = await raw("/");
    const head = await raw("/", "HEAD");
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers["content-length"]).toBe(String(Buffer.byteLength(get.text)));
    expect(head.headers.etag).toBe(get.headers.etag);
  });
});

describe("other methods and other paths", () => {
  it.each(["POST", "PUT", "DELETE", "PATCH"])("refuse %s with 405 and say what is allowed", async (method) => {
    for (const path of ["/", "/assets/dashboard/main.js"]) {
      const reply = await raw(path, method);
      expect(reply.status).toBe(405);
      expect(reply.headers.allow).toBe("GET, HEAD, OPTIONS");
      expect(JSON.parse(reply.text)).toMatchObject({ success: false, code: "METHOD_NOT_ALLOWED" });
    }
  });

  it("answer OPTIONS", async () => {
    expect(await raw("/", "OPTIONS")).toMatchObject({ status: 204, text: "" });
  });

  it.each([
    "/assets",
    "/assets/",
    "/assets/dashboard/index.html",
    "/assets/dashboard/../../../package.json",
    "/assets/dashboard/..%2f..%2f..%2fpackage.json",
    "/assets/%2e%2e/%2e%2e/package.json",
    "/assets/dashboard/main.js%00.css",
    "/assets/dashboard/main.js/",
    "/assets//dashboard/main.js",
    "/assets/dashboard/main.ts",
    "/assets/dashboard/main.js.map",
    "/assets/test/page/probe.js",
    "/index.html",
    "/..",
  ])("find nothing at %s", async (path) => {
    const reply = await raw(path);
    expect(reply.status).toBe(404);
    expect(JSON.parse(reply.text)).toMatchObject({ code: "NOT_FOUND" });
  });

  it("cost the caller no requests: a page needs many files at once", async () => {
    const used = async () => {
      const { data } = JSON.parse((await raw("/api/limits")).text) as {
        data: { buckets: { policy: string; remaining: number }[] };
      };
      return data.buckets.find((bucket) => bucket.policy === "anon")?.remaining ?? 0;
    };
    await used();
    for (let index = 0; index < 50; index++) await raw("/favicon.svg");
    expect(await used()).toBeGreaterThanOrEqual(1_000_000 - 2);
  });
});

describe("a build with a hole in it", () => {
  function folderOf(main: string): string {
    const folder = mkdtempSync(join(tmpdir(), "unwind-hole-"));
    mkdirSync(join(folder, "dashboard"));
    for (const name of ["index.html", "docs.html", "favicon.svg", "docs.js"])
      writeFileSync(join(folder, "dashboard", name), "x");
    writeFileSync(join(folder, "dashboard", "main.js"), main);
    return folder;
  }

  it.each([
    ["a module that is not there", 'import "./gone.js";'],
    ["a module outside the client", 'import { x } from "../../secret.js";'],
  ])("is refused at the start: %s", (_, main) => {
    const folder = folderOf(main);
    symlinkSync(tmpdir(), join(folder, "elsewhere"));
    expect(() => readAssetFiles(folder)).toThrow();
    rmSync(folder, { recursive: true });
  });

  it("follows imports of every form, each module once", () => {
    const folder = folderOf(
      'import type { A } from "./a.js";\nimport {\n  a,\n} from "./a.js";\nexport { b } from "./b.js";\n',
    );
    writeFileSync(
      join(folder, "dashboard", "a.js"),
      'import "./b.js";\nexport const a = 1;\n//# sourceMappingURL=a.js.map\n',
    );
    writeFileSync(join(folder, "dashboard", "b.js"), "export const b = 2;\n");
    const { modulePaths, files } = readAssetFiles(folder);
    expect([...modulePaths].sort()).toEqual(["a", "b", "main"].map((name) => `/assets/dashboard/${name}.js`));
    expect(files.find((file) => file.path.endsWith("a.js"))?.body.toString()).not.toContain("sourceMappingURL");
    rmSync(folder, { recursive: true });
  });
});
