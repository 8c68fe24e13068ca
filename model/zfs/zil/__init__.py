"""The intent log: its blocks (`log`), how a pass writes them (`writer`), and how a commit waits for it (`commit`)."""
