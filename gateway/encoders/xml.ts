/** XML, as text. */
const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  // Parsers read a bare one as the end of a line.
  '\r': '&#13;',
};

/** Escapes markup, and leaves out what XML 1.0 cannot hold. */
export const escapedXml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML refuses them in any form
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"'\r]/g, (character) => ESCAPED[character] ?? character);
