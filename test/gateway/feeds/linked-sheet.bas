' A sheet of LibreOffice Calc that is linked to a URL. Environment: FEED (the URL), SHEET (the document, as a URL), OUTPUT (a path).

' Links a new sheet to the URL and stores it; writes what it shows.
Sub LinkSheet
  document = StarDesktop.loadComponentFromURL("private:factory/scalc", "_blank", 0, Array())
  Dim corner As New com.sun.star.table.CellAddress
  ' Comma, quotes, UTF-8, from the first line, English (USA).
  options = "44,34,76,1,,1033,false,true"
  document.AreaLinks.insertAtPosition(corner, Environ("FEED"), "CSV_all", "Text - txt - csv (StarCalc)", options)
  document.storeAsURL(Environ("SHEET"), Array())
  Finish(document)
End Sub

' Opens the stored sheet, allows the update of its link, and updates it; writes what it shows. A hidden sheet would update nothing.
Sub RefreshSheet
  Dim allowing(0) As New com.sun.star.beans.PropertyValue
  allowing(0).Name = "UpdateDocMode"
  allowing(0).Value = com.sun.star.document.UpdateDocMode.FULL_UPDATE
  document = StarDesktop.loadComponentFromURL(Environ("SHEET"), "_blank", 0, allowing())
  document.AreaLinks.getByIndex(0).refresh()
  Finish(document)
End Sub

' A line for each row, with tabs between the cells.
Sub Finish(document)
  sheet = document.Sheets(0)
  cursor = sheet.createCursor()
  cursor.gotoEndOfUsedArea(False)
  last = cursor.RangeAddress
  rows = sheet.getCellRangeByPosition(0, 0, last.EndColumn, last.EndRow).getFormulaArray()
  file = FreeFile
  Open Environ("OUTPUT") For Output As #file
  For Each row In rows
    Print #file, Join(row, Chr(9))
  Next
  Close #file
  document.close(True)
  StarDesktop.terminate()
End Sub
