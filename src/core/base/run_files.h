// The files of a run, which several rooms look for.
#pragma once

namespace plimsoll {

// Files of a training, in its --save-dir.
inline constexpr const char* kResultsFile = "results.json";
inline constexpr const char* kDiaryFile = "diary.json";
inline constexpr const char* kLastCheckpoint = "last.pth";
inline constexpr const char* kBestCheckpoint = "best.pth";

// Files of a batch, in its folder.
inline constexpr const char* kJournalFile = "journal.sqlite";
inline constexpr const char* kSummaryFile = "summary.csv";

}  // namespace plimsoll
