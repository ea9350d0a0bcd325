/**
 * @file The frame of every page: head, navigation, footer. Addresses are relative, so the site works under any path of any
 * host.
 */

/** One page of the site. */
export interface Page {
  /** Where it lies, without a slash in front: `guides/memory.html`. */
  readonly path: string;
  readonly title: string;
  /** One sentence, for search engines. */
  readonly description: string;
  /** HTML of its main part. */
  readonly body: string;
  /** Script of its own, besides the one that every page has. */
  readonly script?: string;
  /** Class of `main`: how wide it is. */
  readonly layout?: 'text' | 'wide' | 'app';
}

/** Addresses of scripts and styles, from the root of the site. */
export interface PageAssets {
  script(name: string): string;
}

/** An entry of the navigation: where it leads, and its name. */
type Entry = readonly [path: string, name: string];

const NAVIGATION: readonly Entry[] = [
  ['index.html', 'Start'],
  ['guides/index.html', 'Guides'],
  ['reference/index.html', 'Reference'],
  ['explorer.html', 'Explorer'],
  ['gallery/index.html', 'Gallery'],
  ['speed.html', 'Speed'],
];

/** Text as HTML. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** What leads from a page to the root: `../` for each folder. */
export function rootFrom(path: string): string {
  return '../'.repeat(path.split('/').length - 1);
}

/** Whether a page belongs to an entry of the navigation. */
function isWithin(path: string, entry: string): boolean {
  const folder = entry.includes('/') ? entry.slice(0, entry.lastIndexOf('/') + 1) : entry;
  return path.startsWith(folder);
}

/** The whole HTML of a page. */
export function renderPage(
  page: Page,
  assets: PageAssets,
  navigation: readonly Entry[] = NAVIGATION,
): string {
  const root = rootFrom(page.path);
  const links = navigation.map(([path, name]) => {
    const current = isWithin(page.path, path) ? ' aria-current="page"' : '';
    return `<li><a href="${root}${path}"${current}>${name}</a></li>`;
  });
  const scripts = ['page', ...(page.script === undefined ? [] : [page.script])].map(
    (name) => `<script type="module" src="${root}${assets.script(name)}"></script>`,
  );
  const title = page.path === 'index.html' ? page.title : `${page.title} · Tessera`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(page.description)}">
<link rel="icon" href="${root}assets/icon.svg">
<link rel="stylesheet" href="${root}assets/site.css">
<script src="${root}assets/theme.js"></script>
${scripts.join('\n')}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="site-header">
<a class="brand" href="${root}index.html"><img src="${root}assets/icon.svg" alt="" width="22" height="22"> Tessera</a>
${links.length === 0 ? '' : `<nav aria-label="Site"><ul>${links.join('')}</ul></nav>`}
<button type="button" class="theme" id="theme" aria-label="Theme: as the system">◐</button>
</header>
<main id="main" class="${page.layout ?? 'text'}">
${page.body}
</main>
<footer class="site-footer">Tessera is MIT licensed. <a href="https://github.com/tessera-ml/tessera">Source</a></footer>
</body>
</html>
`;
}
