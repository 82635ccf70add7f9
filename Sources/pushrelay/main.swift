print("not in this version")
