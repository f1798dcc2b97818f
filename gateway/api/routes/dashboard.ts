/**
 * GET /, GET /docs and their files. They are not part of the API: no document lists them, they charge no bucket, and
 * they carry the headers of a page. Nothing inline is allowed, and the page may connect to its own origin only (`'self'`
 * covers its socket too), so text that is injected as markup can neither run nor send anything out.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from "uWebSockets.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { PageFacts } from "../../../schemas/page-facts.js";
import type { BucketName } from "../../../schemas/service.js";
import { type AssetFile, assetFile, builtClientFolder, readAssetFiles } from "../../http/asset-files.js";
import type { Edge } from "../../http/edge.js";

const ANON: readonly BucketName[] = ["anon"];
const ALLOW = "GET, HEAD, OPTIONS";

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = [
  // A new build is seen at once; an unchanged file costs an empty 304.
  "Cache-Control: no-cache",
  "X-Content-Type-Options: nosniff",
  "Referrer-Policy: no-referrer",
  "Cross-Origin-Opener-Policy: same-origin",
  "Cross-Origin-Resource-Policy: same-origin",
  "Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "X-Frame-Options: DENY",
  `Content-Security-Policy: ${CONTENT_SECURITY_POLICY}`,
];

/** The account that a page of the demo opens with: its keys work on the local venues only. */
export interface PageAccount {
  readonly walletAddress: string;
  /** By venue, as a request carries them. */
  readonly credentials: object;
}

/** `folder` holds the built client; null means the build's default. Without files the service runs without its page. */
export function mountDashboard(
  app: TemplatedApp,
  edge: Edge,
  folder: string | null,
  account: PageAccount | null,
  facts: PageFacts,
): void {
  const built = folder ?? builtClientFolder();
  if (built === null) {
    edge.logger.warn("dashboard.not_built");
    return;
  }
  const { files, modulePaths } = readAssetFiles(built);
  const link = `Link: ${modulePaths.map((path) => `<${path}>; rel=modulepreload`).join(", ")}`;
  mountFile(app, edge, factsFile(account, facts), HEADERS);
  for (const file of files) mountFile(app, edge, file, file.path === "/" ? [...HEADERS, link] : HEADERS);
}

/** Served by every service, because a browser logs each missing file. */
function factsFile(account: PageAccount | null, facts: PageFacts): AssetFile {
  const body = JSON.stringify({ success: true, data: { account, ...facts } });
  return assetFile("/assets/page.json", "application/json", Buffer.from(body));
}

function mountFile(app: TemplatedApp, edge: Edge, file: AssetFile, headers: readonly string[]): void {
  const counts = edge.countsFor(file.path === "/" || file.path === "/docs" ? file.path : "dashboard files");
  const block = Buffer.from([file.contentType, `ETag: ${file.etag}`, ...headers].join("\r\n"));

  function guarded(weight: number, headOnly: boolean, handle: (response: HttpResponse, request: HttpRequest) => void) {
    const admission = edge.admissionFor({ counts, buckets: ANON, weight, headOnly, access: "reads" });
    return (response: HttpResponse, request: HttpRequest) => {
      try {
        if (edge.admit(response, request, admission)) handle(response, request);
      } catch (error) {
        if (error instanceof ServiceError) edge.fail(response, error);
        else edge.logger.error("http.reply_failed", { errorName: error instanceof Error ? error.name : "unknown" });
      }
    };
  }
  // Not charged: a file from memory is as cheap as a refusal, and a page needs two dozen at once.
  const send = (headOnly: boolean) =>
    guarded(0, headOnly, (response, request) => {
      const isKnown = matches(request.getHeader("if-none-match"), file.etag);
      edge.file(response, block, isKnown ? null : file.body);
    });
  app.get(file.path, send(false));
  app.head(file.path, send(true));
  app.options(
    file.path,
    guarded(1, false, (response) => edge.noContent(response, `\r\nAllow: ${ALLOW}`)),
  );
  app.any(
    file.path,
    guarded(1, false, (response) =>
      edge.fail(response, new ServiceError("METHOD_NOT_ALLOWED", { allow: ALLOW }), `\r\nAllow: ${ALLOW}`),
    ),
  );
}

/** RFC 9110 13.1.2: a list of tags, weak ones included, or a star. */
function matches(header: string, etag: string): boolean {
  return header.split(",").some((one) => {
    const tag = one.trim().replace(/^W\//, "");
    return tag === etag || tag === "*";
  });
}
