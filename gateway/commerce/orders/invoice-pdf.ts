/**
 * An invoice as PDF: A4, embedded subsets of Source Sans 3 (Latin, Greek, Cyrillic), the same bytes for the same document.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import type { InvoiceDocument } from './document.ts';
import { type InvoiceText, invoiceText } from './invoice-text.ts';

/** Points: 1/72 inch. */
const MARGIN = 56;
const COLUMN = 235;
const LABEL = 110;
const AMOUNT = 120;
const TEXT_SIZE = 10;
const TITLE_SIZE = 22;
const GAP = 24;
const GREY = '#555555';

const readFont = (path: string): Buffer =>
  readFileSync(createRequire(import.meta.url).resolve(`@expo-google-fonts/source-sans-3/${path}`));

export async function invoicePdf(document: InvoiceDocument): Promise<Buffer> {
  const text = invoiceText(document);
  const pdf = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    lang: 'en',
    pdfVersion: '1.7',
    displayTitle: true,
    font: '',
    info: {
      Title: `${text.title} ${document.number}`,
      Author: text.seller[0] ?? '',
      // Its default is the moment of writing, which would change the bytes.
      CreationDate: new Date(document.issued_at_ms),
    },
  });
  pdf.registerFont('plain', readFont('400Regular/SourceSans3_400Regular.ttf'));
  pdf.registerFont('strong', readFont('600SemiBold/SourceSans3_600SemiBold.ttf'));
  const bytes = buffer(pdf);
  draw(pdf, text);
  pdf.end();
  return bytes;
}

type Pdf = InstanceType<typeof PDFDocument>;

function draw(pdf: Pdf, text: InvoiceText): void {
  const { width } = pdf.page;
  const right = width - MARGIN;
  pdf.font('strong').fontSize(TITLE_SIZE).text(text.title, MARGIN, MARGIN, { width: COLUMN });
  const underTitle = pdf.y;
  drawLines(pdf, text.seller, right - COLUMN, MARGIN);
  const underSeller = pdf.y;
  pdf
    .font('plain')
    .fillColor(GREY)
    .text('To', MARGIN, Math.max(underTitle, underSeller) + GAP);
  const top = pdf.y;
  drawLines(pdf, text.buyer, MARGIN, top);
  const underBuyer = pdf.y;
  const underFacts = drawFacts(pdf, text.facts, right - COLUMN, top);
  const y = drawTable(pdf, text, Math.max(underBuyer, underFacts) + GAP);
  pdf
    .font('plain')
    .fillColor('black')
    .text('', MARGIN, y + GAP);
  for (const note of text.notes) pdf.text(note, { width: right - MARGIN }).moveDown(0.3);
}

/** A block of lines, the first one strong. Leaves `y` below it. */
function drawLines(pdf: Pdf, lines: readonly string[], x: number, y: number): void {
  pdf.fillColor('black').fontSize(TEXT_SIZE).text('', x, y);
  for (const [index, line] of lines.entries())
    pdf.font(index === 0 ? 'strong' : 'plain').text(line, { width: COLUMN });
}

/** @returns where the facts end */
function drawFacts(pdf: Pdf, facts: InvoiceText['facts'], x: number, top: number): number {
  let y = top;
  for (const [label, value] of facts) {
    pdf.font('plain').fillColor(GREY).text(label, x, y, { width: LABEL });
    pdf.fillColor('black').text(value, x + LABEL, y, { width: COLUMN - LABEL });
    y = pdf.y;
  }
  return y;
}

/** The item with its amounts. @returns where it ends */
function drawTable(pdf: Pdf, { item, amounts }: InvoiceText, top: number): number {
  const right = pdf.page.width - MARGIN;
  const row = (label: string, amount: string, y: number, font: 'plain' | 'strong'): number => {
    pdf.font(font).fillColor('black');
    const under = pdf.text(label, MARGIN, y, { width: right - AMOUNT - MARGIN }).y;
    pdf.text(amount, right - AMOUNT, y, { width: AMOUNT, align: 'right' });
    return under + TEXT_SIZE / 2;
  };
  const rule = (y: number): number => {
    pdf.moveTo(MARGIN, y).lineTo(right, y).lineWidth(0.5).strokeColor(GREY).stroke();
    return y + TEXT_SIZE / 2;
  };
  const total = amounts.at(-1) ?? ['', ''];
  let y = rule(row('Item', 'Amount', top, 'strong'));
  y = rule(row(item, total[1], y, 'plain'));
  for (const [label, amount] of amounts.slice(0, -1)) y = row(label, amount, y, 'plain');
  return row(total[0], total[1], y, 'strong');
}
