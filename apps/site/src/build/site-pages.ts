/**
 * @file The plugin that writes every page once the names of the scripts are known, and the files that are not scripts.
 */
import type { Plugin, Rolldown } from 'vite';
import { errorPages } from './error-pages.js';
import { explorerPage } from './explorer-page.js';
import { folderPage } from './folder-page.js';
import { galleryPages } from './gallery-pages.js';
import { guidePages } from './guide-pages.js';
import { Markdown } from './markdown.js';
import { type Page, type PageAssets, renderPage } from './page.js';
import { referencePages } from './reference-pages.js';
import { bytesOf, textOf } from './repository-files.js';
import { speedPage } from './speed-page.js';
import { startPage } from './start-page.js';
import { typeFiles } from './type-files.js';

/** File name of an entry's script, by the name of the entry. */
function scriptNames(bundle: Rolldown.OutputBundle): Map<string, string> {
  const names = new Map<string, string>();
  for (const chunk of Object.values(bundle))
    if (chunk.type === 'chunk' && chunk.isEntry) names.set(chunk.name, chunk.fileName);
  return names;
}

/** What every page refers to. */
function pageFiles(): Record<string, string | Uint8Array> {
  return {
    'assets/site.css': textOf('apps/site/styles/site.css'),
    'assets/theme.js': textOf('apps/site/styles/theme.js'),
    'assets/icon.svg': textOf('apps/site/styles/icon.svg'),
  };
}

/** What pages of the site fetch, besides. */
function siteFiles(): Record<string, string | Uint8Array> {
  return {
    // Not named .gz: hosts would say how it is encoded, and browsers unpack it.
    'assets/gallery-text.txt': textOf('examples/tiny-gpt/data/text.txt'),
    // What the explorer's editor knows.
    'assets/types.json': typeFiles(),
    'assets/digits.bin': bytesOf('apps/demo/data/digits.safetensors.gz'),
  };
}

/** Pages, and files by name. */
interface PagesAndFiles {
  readonly pages: readonly Page[];
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

/** All of the site. */
async function wholeSite(): Promise<PagesAndFiles> {
  const markdown = await Markdown.create();
  const reference = await referencePages(markdown);
  const pages = [
    startPage(markdown),
    ...guidePages(markdown),
    ...reference.pages,
    ...errorPages(markdown),
    explorerPage(),
    ...galleryPages(markdown),
    await speedPage(markdown),
  ];
  return { pages, files: { ...siteFiles(), 'assets/reference.json': reference.searchIndex } };
}

/** Writes pages and files. */
function writesPages(
  make: () => Promise<PagesAndFiles>,
  render: (page: Page, assets: PageAssets) => string,
): Plugin {
  return {
    name: 'tessera-site-pages',
    async generateBundle(_, bundle) {
      const names = scriptNames(bundle);
      const script = (name: string): string => {
        const file = names.get(name);
        if (file === undefined) throw new Error(`No script is named '${name}'.`);
        return file;
      };
      const { pages, files } = await make();
      for (const page of pages)
        this.emitFile({ type: 'asset', fileName: page.path, source: render(page, { script }) });
      for (const [fileName, source] of Object.entries({ ...pageFiles(), ...files }))
        this.emitFile({ type: 'asset', fileName, source });
    },
  };
}

/** The site. */
export function sitePages(): Plugin {
  return writesPages(wholeSite, renderPage);
}

/** The page that shows a debug folder, on its own: without links to pages that are not there. */
export function folderPages(): Plugin {
  return writesPages(
    () => Promise.resolve({ pages: [folderPage()], files: {} }),
    (page, assets) => renderPage(page, assets, []),
  );
}
